/** Makes a job due now that waits for a later time. */

import type { Actor, RunNowOutcome } from "../core/operations.js";
import type { Ports } from "../core/ports.js";
import { publishAfterCommit } from "./publish.js";
import { unpublishedTypes } from "./replay.js";

/** Moves one waiting job to now and publishes its new message. */
export async function runNow(
  ports: Ports,
  actor: Actor,
  jobId: string,
  reason: string | null,
  actionId = ports.entropy.newId(),
): Promise<RunNowOutcome> {
  const action = { actionId, actor, reason };
  const outcome = await ports.store.runNow(jobId, action, {
    unpublishedTypes: unpublishedTypes(ports),
  });
  if (outcome.kind === "moved" && outcome.wakeup) await publishAfterCommit(ports, [outcome.wakeup]);
  return outcome;
}
