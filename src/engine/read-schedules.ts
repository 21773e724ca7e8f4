/** Reads recurring jobs for those who may see them. */

import type { Actor } from "../core/operations.js";
import type { Ports } from "../core/ports.js";
import type { ScheduleRef } from "../core/schedule.js";
import { type ScheduleView, viewSchedule } from "./view-schedule.js";

/** More schedules than a person reads; whoever has so many lists them by other means. */
const SCHEDULES_MAX = 1000;

/** Reads all schedules that the actor may see, or the one that is asked for. */
export async function readSchedules(
  ports: Ports,
  actor: Actor,
  ref: ScheduleRef | null,
  timesWanted: number,
): Promise<ScheduleView[]> {
  const schedules = await ports.store.readSchedules(actor, ref, SCHEDULES_MAX);
  return schedules.map((schedule) => viewSchedule(schedule, timesWanted));
}
