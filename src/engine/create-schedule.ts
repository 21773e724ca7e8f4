/** Makes a recurring job. */

import type { Actor } from "../core/operations.js";
import type { Ports } from "../core/ports.js";
import type { Recurrence } from "../core/schedule.js";
import { checkSchedule, type ScheduleRefusal } from "./check-schedule.js";
import { startSchedule } from "./start-schedule.js";
import { type ScheduleView, viewSchedule } from "./view-schedule.js";

export interface ScheduleRequest extends Recurrence {
  name: string;
  enabled: boolean;
}

export type CreateScheduleOutcome =
  | { kind: "created"; schedule: ScheduleView }
  | { kind: "refused"; refusal: ScheduleRefusal }
  | { kind: "exists" };

/** Creates a schedule of the actor's own tenant, also where an admin does it. */
export async function createSchedule(
  ports: Ports,
  actor: Actor,
  request: ScheduleRequest,
  timesWanted: number,
): Promise<CreateScheduleOutcome> {
  const refusal = await checkSchedule(ports, request);
  if (refusal) return { kind: "refused", refusal };
  const schedule = await ports.store.createSchedule({
    ...request,
    id: ports.entropy.newId(),
    tenant: actor.keyName,
  });
  if (!schedule) return { kind: "exists" };
  await startSchedule(ports, schedule);
  return { kind: "created", schedule: viewSchedule(schedule, timesWanted) };
}
