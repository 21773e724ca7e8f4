/** What clients send about schedules, and what refuses it. */

import * as z from "zod/mini";
import { MISSED_RUN_POLICIES, SCHEDULE_NAME_PATTERN } from "../core/schedule.js";
import type { ScheduleRefusal } from "../engine/check-schedule.js";
import { jobTypeSchema, jsonSchema } from "./job-request.js";
import { Problem } from "./problem.js";
import { placesOf } from "./validation.js";

/** How many of the next times are shown of one schedule. */
export const NEXT_TIMES = 5;

const recurrence = {
  cron: z
    .string()
    .check(z.describe("Five fields: minute, hour, day of month, month, day of week.")),
  timeZone: z
    ._default(z.string(), "UTC")
    .check(z.describe("IANA name; the expression is in its local time.")),
  type: jobTypeSchema,
  payload: jsonSchema.check(z.describe("Checked against the schema of the job's type.")),
  missedRunPolicy: z
    ._default(z.enum(MISSED_RUN_POLICIES), "skip")
    .check(
      z.describe("Of slots that were past by more than a sweep interval: no job, or one for all."),
    ),
};

/** A schedule to create. */
export const scheduleRequestSchema = z.strictObject({
  name: z
    .string()
    .check(z.regex(SCHEDULE_NAME_PATTERN, `must match ${SCHEDULE_NAME_PATTERN.source}`)),
  ...recurrence,
  enabled: z._default(z.boolean(), true),
});

/** What a schedule becomes; without `enabled` a paused one stays paused. */
export const scheduleEditSchema = z.strictObject({
  ...recurrence,
  enabled: z.optional(z.boolean()),
});

export const scheduleParamsSchema = z.object({
  name: z.string().check(z.regex(SCHEDULE_NAME_PATTERN)),
});

export const scheduleQuerySchema = z.object({
  tenant: z
    .optional(
      z.string().check(
        z.minLength(1),
        z.maxLength(100),
        z.refine((name) => !name.includes("\0"), "must not contain U+0000"),
      ),
    )
    .check(z.describe("Whose schedule, where an admin sees several of one name.")),
});

/** Makes the answer to a schedule that cannot be accepted. */
export function scheduleRefused({ code, issues }: ScheduleRefusal): Problem {
  const detail =
    code === "unknown_job_type"
      ? "The schedule's job type is not registered in this deployment."
      : "The schedule cannot be accepted.";
  return new Problem(code, detail, { errors: placesOf(issues) });
}

/** Makes the answer to a change of what only the code can change. */
export function scheduleDeclared(): Problem {
  return new Problem("forbidden", "A job file declares this schedule; change it there.");
}
