/** Decides which slots of a schedule get jobs now: pure. */

import type { DueSchedule, MissedSlots } from "../core/schedule.js";
import type { Slots } from "./schedule-slots.js";

/** The slots that get a job, those that were missed, and where the next look begins. */
export interface PlannedSlots {
  slots: string[];
  missed: MissedSlots | null;
  nextPlanFrom: string;
}

/** Counting is the only use of each missed slot, and a year of minutes would take minutes. */
const MISSED_COUNT_MAX = 300;
/** Where no slot is in sight, the next look. */
const NOTHING_AHEAD_MS = 86_400_000;
/** The sweep after the next one may be late, so that each slot is in reach of two. */
export const INTERVALS_AHEAD = 2;

/**
 * Plans one schedule: every slot up to two sweep intervals ahead, at most `slotsMax` of them.
 *
 * Shape: missed is a slot that was past by more than one interval when a sweep first came to it; one
 *        that is past by less gets its job late. `run_once` gives the last missed slot a job.
 */
export function planSlots(
  schedule: DueSchedule,
  slots: Slots,
  bounds: { intervalSeconds: number; slotsMax: number },
): PlannedSlots {
  const nowMs = Date.parse(schedule.readAt);
  const intervalMs = bounds.intervalSeconds * 1000;
  const planFromMs = Date.parse(schedule.planFrom);
  const liveFromMs = Math.max(planFromMs, nowMs - intervalMs);
  const missed = missedSlots(slots, planFromMs, liveFromMs);
  const late = missed && schedule.missedRunPolicy === "run_once" ? [Date.parse(missed.last)] : [];
  const aheadMs = nowMs + INTERVALS_AHEAD * intervalMs;
  const made: number[] = [];
  let nextMs = nowMs + NOTHING_AHEAD_MS;
  for (const slotMs of slots.from(liveFromMs)) {
    if (slotMs > aheadMs || late.length + made.length >= bounds.slotsMax) {
      nextMs = slotMs;
      break;
    }
    made.push(slotMs);
  }
  return {
    slots: [...late, ...made].map(instantOf),
    missed,
    nextPlanFrom: instantOf(nextMs),
  };
}

function missedSlots(slots: Slots, fromMs: number, beforeMs: number): MissedSlots | null {
  if (fromMs >= beforeMs) return null;
  const lastMs = slots.before(beforeMs);
  if (lastMs === undefined || lastMs < fromMs) return null;
  const counted: number[] = [];
  for (const slotMs of slots.from(fromMs)) {
    if (slotMs > lastMs || counted.length > MISSED_COUNT_MAX) break;
    counted.push(slotMs);
  }
  return {
    first: instantOf(counted[0] ?? lastMs),
    last: instantOf(lastMs),
    count: Math.min(counted.length, MISSED_COUNT_MAX),
    capped: counted.length > MISSED_COUNT_MAX,
  };
}

function instantOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
