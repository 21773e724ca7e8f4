/** Lets a new, edited or resumed schedule begin at once, not with the next sweep. */

import type { Ports } from "../core/ports.js";
import type { Schedule } from "../core/schedule.js";
import { planSchedule } from "./plan-schedule.js";
import { publishAfterCommit } from "./publish.js";
import { scheduledTypes } from "./scheduled-types.js";

/**
 * Makes the jobs of the first slots; a sweep may be a day away, and they would come late together.
 *
 * Errors: never throws: the schedule is stored, and what is not planned here the sweep plans.
 */
export async function startSchedule(ports: Ports, schedule: Schedule): Promise<void> {
  if (!schedule.enabled) return;
  try {
    const plan = planSchedule(ports, schedule, Number.POSITIVE_INFINITY);
    await publishAfterCommit(ports, await ports.store.makeSlots([plan], scheduledTypes(ports)));
  } catch (error) {
    ports.log("sweep_step_failed", { step: "schedules", error: String(error) });
  }
}
