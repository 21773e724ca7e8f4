/** Makes a requested job ready to insert: its type's defaults, its dedupe key, its checks. */

import type { JobDefinition, PayloadIssue } from "../core/define-job.js";
import { DEDUPE_KEY_LENGTH_MAX, type Json, RUN_AT_DAYS_MAX } from "../core/job.js";
import type { NewJob, Ports } from "../core/ports.js";
import { checkPayload } from "./check-payload.js";

/** One job as a client asks for it; shapes and bounds were checked, its type was not. */
export interface JobRequest {
  type: string;
  payload: Json;
  priority?: number;
  runAt?: string;
  delaySeconds?: number;
  maxAttempts?: number;
  dedupeKey?: string;
}

/** Why a job cannot be made; paths lead from the request's root. */
export interface Refusal {
  code: "validation_failed" | "unknown_job_type";
  issues: PayloadIssue[];
}

/** Code asked for a job that its type refuses; `issues` name every place. */
export class EnqueueRefusedError extends TypeError {
  readonly issues: PayloadIssue[];
  constructor(issues: PayloadIssue[]) {
    super(issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; "));
    this.name = "EnqueueRefusedError";
    this.issues = issues;
  }
}

/** Gives the job, or throws its refusal: code has no response to put it into. */
export function accepted(resolved: NewJob | Refusal): NewJob {
  if ("issues" in resolved) throw new EnqueueRefusedError(resolved.issues);
  return resolved;
}

/**
 * Gives the job as it will be inserted, or every refused place.
 *
 * @param path where the job stands in its request
 */
export async function resolveJob(
  ports: Ports,
  job: JobRequest,
  traceparent: string | null,
  path: (string | number)[] = [],
): Promise<NewJob | Refusal> {
  const definition = ports.registry.get(job.type);
  if (!definition) {
    const message = `no job type "${job.type}" here; known: ${[...ports.registry.keys()].join(", ")}`;
    return { code: "unknown_job_type", issues: [{ path: [...path, "type"], message }] };
  }
  const issues = await checkJob(ports, definition, job);
  if ("refused" in issues) {
    const placed = issues.refused.map((issue) => ({ ...issue, path: [...path, ...issue.path] }));
    return { code: "validation_failed", issues: placed };
  }
  return {
    id: ports.entropy.newId(),
    type: job.type,
    payload: job.payload,
    priority: job.priority ?? 0,
    maxAttempts: job.maxAttempts ?? definition.maxAttempts,
    runAt: job.runAt ?? null,
    delaySeconds: job.delaySeconds ?? 0,
    dedupeKey: issues.dedupeKey,
    dedupeUntil: definition.dedupeUntil,
    publish: definition.runsOn === "qstash",
    traceparent,
  };
}

async function checkJob(
  ports: Ports,
  definition: JobDefinition,
  job: JobRequest,
): Promise<{ dedupeKey: string | null } | { refused: PayloadIssue[] }> {
  const checked = await checkPayload(ports, definition, job.payload);
  if ("refused" in checked) return checked;
  const refused: PayloadIssue[] = [];
  if (job.runAt !== undefined && isTooFarAhead(job.runAt)) {
    const message = `at most ${RUN_AT_DAYS_MAX} days ahead`;
    refused.push({ path: ["runAt"], message });
  }
  const dedupeKey = job.dedupeKey ?? definition.dedupeKey(checked.data) ?? null;
  const fault = dedupeKey === null ? undefined : dedupeKeyFault(dedupeKey);
  if (fault) refused.push({ path: ["dedupeKey"], message: fault });
  return refused.length > 0 ? { refused } : { dedupeKey };
}

/** A sanity bound on input, not a due time: minutes of skew do not matter at a year's distance. */
function isTooFarAhead(runAt: string): boolean {
  return Date.parse(runAt) - Date.now() > RUN_AT_DAYS_MAX * 86_400_000;
}

/** Keys may also come from a type's own function, so the schema of the request is not enough. */
function dedupeKeyFault(key: string): string | undefined {
  if (key.length === 0 || [...key].length > DEDUPE_KEY_LENGTH_MAX) {
    return `must have 1 to ${DEDUPE_KEY_LENGTH_MAX} characters`;
  }
  return key.includes("\u0000") || !key.isWellFormed()
    ? "holds a character that cannot be stored"
    : undefined;
}
