/** Makes the creation of a job part of the caller's own transaction. */

import type { Ports, SqlStatement } from "../core/ports.js";
import { accepted, type JobRequest, resolveJob } from "./resolve-job.js";

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
  const resolved = accepted(await resolveJob(ports, job, null));
  return { jobId: resolved.id, statement: ports.store.enqueueStatement(tenant, resolved) };
}
