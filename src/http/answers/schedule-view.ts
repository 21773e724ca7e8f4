/** The schemas of a schedule as clients see it. */

import * as z from "zod/mini";
import { MISSED_RUN_POLICIES } from "../../core/schedule.js";

const instant = z.iso.datetime();

export const scheduleViewSchema = z.object({
  name: z.string(),
  tenant: z.string().check(z.describe("Whose schedule and jobs they are.")),
  cron: z.string(),
  timeZone: z.string(),
  type: z.string(),
  payload: z.unknown().check(z.describe("Any JSON value.")),
  enabled: z.boolean(),
  missedRunPolicy: z.enum(MISSED_RUN_POLICIES),
  declared: z.boolean().check(z.describe("Declared in a job file, and changed only there.")),
  revision: z.int().check(z.describe("Raised by every edit, pause and resume.")),
  nextRunAt: z.nullable(instant).check(z.describe("Null while it is paused.")),
  lastRunAt: z.nullable(instant),
  lastMissed: z
    .nullable(z.object({ first: instant, last: instant, count: z.int(), capped: z.boolean() }))
    .check(
      z.describe("The latest slots that no sweep was there for; capped when there were more."),
    ),
  createdAt: instant,
  updatedAt: instant,
});

/** One schedule by itself also says when it comes next. */
export const scheduleDetailSchema = z.extend(scheduleViewSchema, {
  nextTimes: z.array(instant).check(z.describe("The next five times.")),
});
