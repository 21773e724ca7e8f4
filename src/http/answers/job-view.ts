/** The schema of a job as clients see it. */

import * as z from "zod/mini";
import { JOB_STATUSES } from "../../core/job.js";

const instant = z.iso.datetime();
const json = z.unknown().check(z.describe("Any JSON value."));

/** The job object: times in UTC with milliseconds, absent values null. */
export const jobViewSchema = z.object({
  id: z.uuid(),
  type: z.string(),
  status: z.enum(JOB_STATUSES),
  priority: z.int(),
  payload: json,
  result: json,
  resultOmitted: z.nullable(z.string()).check(z.describe("Why the result was not kept.")),
  progress: json,
  attempts: z.int().check(z.describe("Attempts started; never decreases.")),
  attemptsLeft: z.int(),
  maxAttempts: z.int(),
  dedupeKey: z.nullable(z.string()),
  lastError: z.nullable(
    z.object({ code: z.string(), message: z.string(), retryable: z.boolean(), at: instant }),
  ),
  cancelRequested: z.boolean(),
  nextRunAt: z.nullable(instant),
  lockedUntil: z.nullable(instant),
  startedAt: z.nullable(instant).check(z.describe("First start.")),
  finishedAt: z.nullable(instant),
  createdAt: instant,
  updatedAt: instant,
});
