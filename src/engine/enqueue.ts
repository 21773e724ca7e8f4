/** Creates a job from code in the same deployment. */

import type { Ports } from "../core/ports.js";
import { nudge } from "./nudge.js";
import { accepted, type JobRequest, resolveJob } from "./resolve-job.js";

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
  const resolved = accepted(await resolveJob(ports, job, null));
  const made = await ports.store.enqueue(tenant, resolved);
  if (made.created) await nudge(ports, [made.jobId]);
  return made;
}
