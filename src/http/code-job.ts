/** A job that code in the same deployment asks for, held to the rules of the API. */

import { JSON_DEPTH_MAX, parseExactJson } from "../core/exact-json.js";
import { safeParse } from "../core/parse.js";
import { EnqueueRefusedError, type JobRequest } from "../engine/resolve-job.js";
import { jobRequestSchema } from "./job-request.js";

/**
 * Reads a job that code asks for as if it had come in a request: its payload is what JSON makes of
 * it, since that is what the handler will see.
 *
 * Errors: `EnqueueRefusedError` for what JSON cannot say or a request could not ask for.
 */
export function readCodeJob(job: JobRequest): JobRequest {
  const parsed = parseExactJson(jsonOf(job), JSON_DEPTH_MAX + 1);
  if (!parsed.ok) throw refusal([{ pointer: "#", detail: parsed.detail }]);
  if (parsed.faults.length > 0) throw refusal(parsed.faults);
  const checked = safeParse(jobRequestSchema, parsed.value);
  if (checked.success) return checked.data;
  throw new EnqueueRefusedError(
    checked.error.issues.map(({ path, message }) => ({ path: path.map(String), message })),
  );
}

function jsonOf(job: JobRequest): string {
  try {
    return JSON.stringify(job, (name, value) => {
      // JSON would make it null.
      if (typeof value !== "number" || Number.isFinite(value)) return value;
      throw new TypeError(`${name} is ${value}`);
    });
  } catch (error) {
    throw refusal([{ pointer: "#", detail: String(error) }]);
  }
}

function refusal(places: { pointer: string; detail: string }[]): EnqueueRefusedError {
  return new EnqueueRefusedError(
    places.map(({ pointer, detail }) => ({
      path: pointer.split("/").slice(1).map(nameOf),
      message: detail,
    })),
  );
}

/** Undoes what `pointerToken` does. */
const nameOf = (token: string): string =>
  decodeURIComponent(token).replaceAll("~1", "/").replaceAll("~0", "~");
