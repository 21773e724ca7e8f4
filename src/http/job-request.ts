/** What clients send to create and change jobs. */

import * as z from "zod";
import {
  DEDUPE_KEY_LENGTH_MAX,
  EFFECT_NAME_PATTERN,
  JOB_TYPE_PATTERN,
  type Json,
  MAX_ATTEMPTS_BOUNDS,
  PRIORITY_MAX,
} from "../core/job.js";
import { instantSchema } from "./instant.js";

const DELAY_SECONDS_MAX = 365 * 86_400;
const REASON_LENGTH_MAX = 500;

/** Any JSON value that is there, null included; it was parsed by `parseExactJson` before. */
export const jsonSchema = z
  .unknown()
  .refine((value) => value !== undefined, "is required") as z.ZodType<Json>;

export const jobTypeSchema = z
  .string()
  .regex(JOB_TYPE_PATTERN, `must match ${JOB_TYPE_PATTERN.source}`);

/** One job to create. */
export const jobRequestSchema = z
  .strictObject({
    type: jobTypeSchema,
    payload: jsonSchema.describe("Checked against the schema of the job's type."),
    priority: z.int().min(0).max(PRIORITY_MAX).optional().describe("9 runs first; default 0."),
    runAt: instantSchema.optional().describe("Due time; the past is now, at most a year ahead."),
    delaySeconds: z
      .number()
      .min(0)
      .max(DELAY_SECONDS_MAX)
      .optional()
      .describe("Due so many seconds from now, fractions included; not together with runAt."),
    maxAttempts: z
      .int()
      .min(MAX_ATTEMPTS_BOUNDS.min)
      .max(MAX_ATTEMPTS_BOUNDS.max)
      .optional()
      .describe("Default: that of the type."),
    dedupeKey: z
      .string()
      .min(1)
      .max(DEDUPE_KEY_LENGTH_MAX)
      .optional()
      .describe("At most one active job has this key; default: what the type derives."),
  })
  .refine(({ runAt, delaySeconds }) => runAt === undefined || delaySeconds === undefined, {
    path: ["delaySeconds"],
    message: "cannot be given together with runAt",
  });

export const reasonSchema = z
  .string()
  .max(REASON_LENGTH_MAX)
  .describe("Kept with the job's history.");

/** The body of operations that take nothing but a reason. */
export const reasonBodySchema = z.strictObject({ reason: reasonSchema.optional() });

export const jobParamsSchema = z.object({ id: z.uuid() });
export const effectParamsSchema = jobParamsSchema.extend({
  name: z.string().regex(EFFECT_NAME_PATTERN),
});
export const typeParamsSchema = z.object({ type: z.string().regex(JOB_TYPE_PATTERN) });
