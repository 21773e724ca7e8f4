/** Cancels a waiting job, or asks a processing one to stop. */

import type { Actor, CancelOutcome } from "../core/operations.js";
import type { Ports } from "../core/ports.js";

/** Cancels one job that the actor may see; a terminal one stays as it is (I10). */
export async function cancel(
  ports: Ports,
  actor: Actor,
  jobId: string,
  reason: string | null,
  actionId = ports.entropy.newId(),
): Promise<CancelOutcome> {
  const action = { actionId, actor, reason };
  const outcome = await ports.store.cancel(jobId, action);
  if (outcome.kind === "cancelled" || outcome.kind === "requested") {
    ports.log("job_cancelled", { jobId, by: actor.keyName, outcome: outcome.kind });
  }
  return outcome;
}
