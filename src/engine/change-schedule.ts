/** Edits, pauses, resumes or deletes a recurring job. */

import type { Actor } from "../core/operations.js";
import type { Ports } from "../core/ports.js";
import type { ScheduleChange, ScheduleRef } from "../core/schedule.js";
import { checkSchedule, type ScheduleRefusal } from "./check-schedule.js";
import { startSchedule } from "./start-schedule.js";
import { type ScheduleView, viewSchedule } from "./view-schedule.js";

export type ChangeScheduleOutcome =
  | { kind: "changed"; schedule: ScheduleView; jobsCancelled: number }
  | { kind: "refused"; refusal: ScheduleRefusal }
  | { kind: "declared" }
  | { kind: "not_found" };

/** Changes a schedule that the actor may see; its jobs that have not started are cancelled. */
export async function changeSchedule(
  ports: Ports,
  actor: Actor,
  ref: ScheduleRef,
  change: ScheduleChange,
  timesWanted: number,
  actionId = ports.entropy.newId(),
): Promise<ChangeScheduleOutcome> {
  const refusal = change.kind === "edit" ? await checkSchedule(ports, change.recurrence) : null;
  if (refusal) return { kind: "refused", refusal };
  const action = { actionId, actor, reason: null };
  const outcome = await ports.store.changeSchedule(ref, change, action);
  if (outcome.kind !== "changed") return outcome;
  if (change.kind !== "delete") await startSchedule(ports, outcome.schedule);
  return { ...outcome, schedule: viewSchedule(outcome.schedule, timesWanted) };
}
