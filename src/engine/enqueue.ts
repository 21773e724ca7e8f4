/** Creates jobs from code in the same deployment: at once, or inside the caller's own transaction. */

import type { PayloadIssue } from "../core/define-job.js";
import type { NewJob, Ports, SqlStatement } from "../core/ports.js";
import { nudge } from "./nudge.js";
import { type JobRequest, resolveJob } from "./resolve-job.js";

/** The job was refused; `issues` name every place. */
export class EnqueueRefusedError extends TypeError {
  readonly issues: PayloadIssue[];
  constructor(issues: PayloadIssue[]) {
    super(issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; "));
    this.name = "EnqueueRefusedError";
    this.issues = issues;
  }
}

/**
 * Creates a job and publishes it.
 *
 * Shape:  `created` is false when an active job already had the dedupe key.
 * Errors: `EnqueueRefusedError`, `StoreUnavailableError`; a failed publish is the sweep's.
 */
export async function enqueue(
  ports: Ports,
  tenant: string,
  job: JobRequest,
): Promise<{ jobId: string; created: boolean }> {
  const resolved = await resolveOrThrow(ports, job);
  const made = await ports.store.enqueue(tenant, resolved);
  if (made.created) await nudge(ports, [made.jobId]);
  return made;
}

/**
 * Gives the statement that creates a job, for the caller's own batch or transaction: the job exists
 * exactly when the business row does. `nudge` publishes it after that commit, the sweep otherwise.
 *
 * Errors: `EnqueueRefusedError`
 */
export async function prepareEnqueue(
  ports: Ports,
  tenant: string,
  job: JobRequest,
): Promise<{ jobId: string; statement: SqlStatement }> {
  const resolved = await resolveOrThrow(ports, job);
  return { jobId: resolved.id, statement: ports.store.enqueueStatement(tenant, resolved) };
}

async function resolveOrThrow(ports: Ports, job: JobRequest): Promise<NewJob> {
  const resolved = await resolveJob(ports, job, null);
  if ("issues" in resolved) throw new EnqueueRefusedError(resolved.issues);
  return resolved;
}
