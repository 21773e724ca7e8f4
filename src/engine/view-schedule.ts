/** A schedule with the times that it is heading for. */

import type { Schedule } from "../core/schedule.js";
import { scheduleSlots } from "./schedule-slots.js";

export interface ScheduleView extends Schedule {
  /** Null while it is paused. */
  nextRunAt: string | null;
  /** The next times, `nextRunAt` first; empty where nobody asked for them. */
  nextTimes: string[];
}

/** Adds the next times of a schedule; the first alone is mostly known from the latest sweep. */
export function viewSchedule(schedule: Schedule, timesWanted: number): ScheduleView {
  if (!schedule.enabled) return { ...schedule, nextRunAt: null, nextTimes: [] };
  const known = timesWanted <= 1 && schedule.plannedNextAt;
  const times = known ? [known] : timesOf(schedule, Math.max(1, timesWanted));
  return {
    ...schedule,
    nextRunAt: times[0] ?? null,
    nextTimes: times.slice(0, timesWanted),
  };
}

function timesOf({ cron, timeZone, readAt }: Schedule, count: number): string[] {
  const slots = scheduleSlots(cron, timeZone);
  if ("part" in slots) return [];
  const times: string[] = [];
  for (const slotMs of slots.from(Date.parse(readAt) + 1)) {
    times.push(new Date(slotMs).toISOString());
    if (times.length === count) break;
  }
  return times;
}
