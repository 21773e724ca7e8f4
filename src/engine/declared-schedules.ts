/** The schedules that job files declare. */

import type { Ports } from "../core/ports.js";
import type { Recurrence } from "../core/schedule.js";
import { checkSchedule } from "./check-schedule.js";
import { storableJson } from "./storable-json.js";

/** Lists them; one that cannot be accepted is logged and left out, so that the others go on. */
export async function declaredSchedules(ports: Ports): Promise<Recurrence[]> {
  const declared: Recurrence[] = [];
  for (const { type, schedule } of ports.registry.values()) {
    if (!schedule) continue;
    const issues = (await checkSchedule(ports, schedule))?.issues ?? [];
    const faults = issues.map(({ path, message }) => `${path.join(".")} ${message}`);
    // Over HTTP the body was read as JSON that can be kept; one such payload would fail them all.
    const { omitted } = storableJson(schedule.payload, Number.POSITIVE_INFINITY);
    if (omitted) faults.push(`payload ${omitted}`);
    if (faults.length === 0) declared.push(schedule);
    else ports.log("sweep_step_failed", { step: "schedules", type, error: faults.join("; ") });
  }
  return declared;
}
