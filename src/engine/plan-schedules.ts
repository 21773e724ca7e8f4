/** One step of the sweep: makes the jobs of the slots that come soon. */

import type { Wakeup } from "../core/job.js";
import type { Ports } from "../core/ports.js";
import type { DueSchedule, SlotPlan } from "../core/schedule.js";
import { declaredSchedules } from "./declared-schedules.js";
import { INTERVALS_AHEAD, planSlots } from "./plan-slots.js";
import { type Slots, scheduleSlots } from "./schedule-slots.js";
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

const SLOTS_PER_SCHEDULE = 100;
const SCHEDULES_PER_BATCH = 100;
/** Jobs that a change in code leaves behind; more are found by the next sweep. */
const CANCELLED_PER_SWEEP = 1000;
/** Of a schedule whose time zone this runtime does not know any more; it is looked at again. */
const NO_SLOTS: Slots = { from: () => [], before: () => undefined };

/**
 * Plans the schedules whose next slot is near, soonest first, at most `slotsMax` slots together.
 *
 * Shape: reads and then writes, which is safe because the write holds only for what was read: the
 *        same revision, still planned up to the same slot.
 */
export async function planSchedules(ports: Ports, slotsMax: number): Promise<PlannedSchedules> {
  const intervalSeconds = ports.settings.sweepIntervalSeconds;
  const declared = await declaredSchedules(ports);
  const read = () =>
    ports.store.dueSchedules(declared, INTERVALS_AHEAD * intervalSeconds, SCHEDULES_PER_BATCH);
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
    const bounds = { intervalSeconds, slotsMax: Math.min(room, SLOTS_PER_SCHEDULE) };
    const plan = planOne(ports, schedule, bounds);
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

function planOne(
  ports: Ports,
  schedule: DueSchedule,
  bounds: { intervalSeconds: number; slotsMax: number },
): SlotPlan {
  const { id, revision, planFrom } = schedule;
  const slots = scheduleSlots(schedule.cron, schedule.timeZone);
  if ("part" in slots) {
    const error = `${slots.part} ${slots.reason}`;
    ports.log("sweep_step_failed", { step: "schedules", scheduleId: id, error });
  }
  const planned = planSlots(schedule, "part" in slots ? NO_SLOTS : slots, bounds);
  return {
    scheduleId: id,
    revision,
    planFrom,
    nextPlanFrom: planned.nextPlanFrom,
    slots: planned.slots.map((slotAt) => ({ jobId: ports.entropy.newId(), slotAt })),
    missed: planned.missed,
  };
}
