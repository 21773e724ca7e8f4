/** Checks what a schedule asks for: its expression, its time zone, its type and its payload. */

import type { PayloadIssue } from "../core/define-job.js";
import type { Ports } from "../core/ports.js";
import type { Recurrence } from "../core/schedule.js";
import { checkPayload } from "./check-payload.js";
import { scheduleSlots } from "./schedule-slots.js";

export interface ScheduleRefusal {
  code: "validation_failed" | "unknown_job_type";
  issues: PayloadIssue[];
}

/** Gives every refused place, or null; paths lead from the request's root. */
export async function checkSchedule(
  ports: Ports,
  { cron, timeZone, type, payload }: Recurrence,
): Promise<ScheduleRefusal | null> {
  const definition = ports.registry.get(type);
  if (!definition) {
    const known = [...ports.registry.keys()].join(", ");
    const message = `no job type "${type}" here; known: ${known}`;
    return { code: "unknown_job_type", issues: [{ path: ["type"], message }] };
  }
  const slots = scheduleSlots(cron, timeZone);
  const checked = await checkPayload(ports, definition, payload);
  const issues = [
    ...("part" in slots ? [{ path: [slots.part], message: slots.reason }] : []),
    ...("refused" in checked ? checked.refused : []),
  ];
  return issues.length > 0 ? { code: "validation_failed", issues } : null;
}
