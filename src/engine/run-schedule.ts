/** Runs a recurring job now, besides its slots. */

import type { Actor } from "../core/operations.js";
import type { Ports } from "../core/ports.js";
import type { RunScheduleOutcome, ScheduleRef } from "../core/schedule.js";
import { publishAfterCommit } from "./publish.js";
import { scheduledTypes } from "./scheduled-types.js";

/** Creates one job of a schedule that the actor may see, paused or not; the same id, the same job. */
export async function runSchedule(
  ports: Ports,
  actor: Actor,
  ref: ScheduleRef,
  jobId = ports.entropy.newId(),
): Promise<RunScheduleOutcome> {
  const action = { actionId: jobId, actor, reason: null };
  const outcome = await ports.store.runSchedule(ref, jobId, scheduledTypes(ports), action);
  if (outcome.kind === "created") {
    ports.log("job_created", { jobId, type: outcome.job.type });
    await publishAfterCommit(ports, outcome.wakeup ? [outcome.wakeup] : []);
  }
  return outcome;
}
