/** A schedule as clients see it. */

import type * as z from "zod/mini";
import type { ScheduleView } from "../engine/view-schedule.js";
import type { scheduleDetailSchema, scheduleViewSchema } from "./answers/schedule-view.js";

/** Gives the members that clients see. */
export function scheduleView(schedule: ScheduleView): z.input<typeof scheduleViewSchema> {
  return {
    name: schedule.name,
    tenant: schedule.tenant,
    cron: schedule.cron,
    timeZone: schedule.timeZone,
    type: schedule.type,
    payload: schedule.payload,
    enabled: schedule.enabled,
    missedRunPolicy: schedule.missedRunPolicy,
    declared: schedule.declared,
    revision: schedule.revision,
    nextRunAt: schedule.nextRunAt,
    lastRunAt: schedule.lastRunAt,
    lastMissed: schedule.lastMissed,
    createdAt: schedule.createdAt,
    updatedAt: schedule.updatedAt,
  };
}

/** Gives the same with the next times. */
export function scheduleDetail(schedule: ScheduleView): z.input<typeof scheduleDetailSchema> {
  return { ...scheduleView(schedule), nextTimes: schedule.nextTimes };
}
