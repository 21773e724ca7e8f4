/** Works out which jobs one schedule gets now. */

import type { Ports } from "../core/ports.js";
import type { DueSchedule, SlotPlan } from "../core/schedule.js";
import { planSlots } from "./plan-slots.js";
import { type Slots, scheduleSlots } from "./schedule-slots.js";

const SLOTS_PER_SCHEDULE = 100;
/** Of a schedule whose time zone this runtime does not know any more; it is looked at again. */
const NO_SLOTS: Slots = { from: () => [], before: () => undefined };

/** Plans a schedule as it was read; the store refuses the plan when it has changed since. */
export function planSchedule(ports: Ports, schedule: DueSchedule, room: number): SlotPlan {
  const { id, revision, planFrom } = schedule;
  const slots = scheduleSlots(schedule.cron, schedule.timeZone);
  if ("part" in slots) {
    const error = `${slots.part} ${slots.reason}`;
    ports.log("sweep_step_failed", { step: "schedules", scheduleId: id, error });
  }
  const planned = planSlots(schedule, "part" in slots ? NO_SLOTS : slots, {
    intervalSeconds: ports.settings.sweepIntervalSeconds,
    slotsMax: Math.min(room, SLOTS_PER_SCHEDULE),
  });
  return {
    scheduleId: id,
    revision,
    planFrom,
    nextPlanFrom: planned.nextPlanFrom,
    slots: planned.slots.map((slotAt) => ({ jobId: ports.entropy.newId(), slotAt })),
    missed: planned.missed,
  };
}
