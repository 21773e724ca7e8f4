/** The schedules that job files declare. */

import type { Ports } from "../core/ports.js";
import type { Recurrence } from "../core/schedule.js";
import { checkSchedule } from "./check-schedule.js";

/** Lists them; one that cannot be accepted is logged and left out, so that the others go on. */
export async function declaredSchedules(ports: Ports): Promise<Recurrence[]> {
  const declared: Recurrence[] = [];
  for (const { type, schedule } of ports.registry.values()) {
    if (!schedule) continue;
    const refusal = await checkSchedule(ports, schedule);
    if (!refusal) {
      declared.push(schedule);
      continue;
    }
    const error = refusal.issues.map(({ path, message }) => `${path.join(".")} ${message}`);
    ports.log("sweep_step_failed", { step: "schedules", type, error: error.join("; ") });
  }
  return declared;
}
