/** A job that code in the same deployment asks for, held to the rules of the API. */

import { EnqueueRefusedError, type JobRequest } from "../engine/resolve-job.js";
import { jobRequestSchema } from "./job-request.js";
import { Problem } from "./problem.js";
import { parseBody } from "./read-body.js";

/**
 * Gives the job as it would have come over HTTP, so that what is checked is what a handler gets.
 *
 * Errors: `EnqueueRefusedError`; `TypeError` for what JSON cannot write at all.
 */
export function readCodeJob(job: JobRequest): JobRequest {
  const bytes = new TextEncoder().encode(JSON.stringify(job));
  try {
    const rule = { schema: jobRequestSchema, limit: "job", levelsAround: 1 } as const;
    return parseBody(bytes, rule).value as JobRequest;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new EnqueueRefusedError(
      (error.options.errors ?? []).map(({ pointer, detail: message }) => ({
        path: pointer.split("/").slice(1),
        message,
      })),
    );
  }
}
