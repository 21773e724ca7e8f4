/** One step of the sweep: makes the jobs of the slots that come soon. */

import type { Wakeup } from "../core/job.js";
import type { Ports } from "../core/ports.js";
import type { SlotPlan } from "../core/schedule.js";
import { declaredSchedules } from "./declared-schedules.js";
import { planSchedule } from "./plan-schedule.js";
import { INTERVALS_AHEAD } from "./plan-slots.js";
import { scheduledTypes } from "./scheduled-types.js";

/** What one batch of schedules came to. */
export interface PlannedSchedules {
  wakeups: Wakeup[];
  slots: number;
  slotsMissed: number;
  /** Schedules are left that another batch should look at. */
  more: boolean;
  calls: number;
}

const SCHEDULES_PER_BATCH = 100;
/** Jobs that a change in code leaves behind; more are found by the next sweep. */
const CANCELLED_PER_SWEEP = 1000;

/**
 * Plans the schedules whose next slot is near, soonest first, at most `slotsMax` slots together.
 *
 * Shape: reads and then writes, which is safe because the write holds only for what was read: the
 *        same revision, still planned up to the same slot.
 */
export async function planSchedules(ports: Ports, slotsMax: number): Promise<PlannedSchedules> {
  const aheadSeconds = INTERVALS_AHEAD * ports.settings.sweepIntervalSeconds;
  const declared = await declaredSchedules(ports);
  const read = () => ports.store.dueSchedules(declared, aheadSeconds, SCHEDULES_PER_BATCH);
  let calls = 1;
  let { schedules: due, declaredCurrent } = await read();
  if (!declaredCurrent) {
    const identified = declared.map((each) => ({ ...each, id: ports.entropy.newId() }));
    await ports.store.applyDeclared(identified, CANCELLED_PER_SWEEP);
    ({ schedules: due } = await read());
    calls += 2;
  }
  const plans: SlotPlan[] = [];
  let room = slotsMax;
  for (const schedule of due) {
    if (room <= 0) break;
    const plan = planSchedule(ports, schedule, room);
    room -= plan.slots.length;
    plans.push(plan);
  }
  const wakeups = plans.length > 0 ? await ports.store.makeSlots(plans, scheduledTypes(ports)) : [];
  return {
    wakeups,
    slots: slotsMax - room,
    slotsMissed: plans.reduce((sum, { missed }) => sum + (missed?.count ?? 0), 0),
    more: due.length === SCHEDULES_PER_BATCH || plans.length < due.length,
    calls: calls + (plans.length > 0 ? 1 : 0),
  };
}
