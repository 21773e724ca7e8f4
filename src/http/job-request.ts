/** What clients send to create and change jobs. */

import * as z from "zod/mini";
import {
  DEDUPE_KEY_LENGTH_MAX,
  EFFECT_NAME_PATTERN,
  JOB_TYPE_PATTERN,
  type Json,
  MAX_ATTEMPTS_BOUNDS,
  PRIORITY_MAX,
} from "../core/job.js";
import { REASON_LENGTH_MAX } from "../core/operations.js";
import { instantSchema } from "./instant.js";

const DELAY_SECONDS_MAX = 365 * 86_400;

/** Any JSON value that is there, null included; it was parsed by `parseExactJson` before. */
export const jsonSchema = z
  .unknown()
  .check(z.refine((value) => value !== undefined, "is required")) as z.ZodMiniType<Json>;

export const jobTypeSchema = z
  .string()
  .check(z.regex(JOB_TYPE_PATTERN, `must match ${JOB_TYPE_PATTERN.source}`));

/** One job to create. */
export const jobRequestSchema = z
  .strictObject({
    type: jobTypeSchema,
    payload: jsonSchema.check(z.describe("Checked against the schema of the job's type.")),
    priority: z
      .optional(z.int().check(z.minimum(0), z.maximum(PRIORITY_MAX)))
      .check(z.describe("9 runs first; default 0.")),
    runAt: z
      .optional(instantSchema)
      .check(z.describe("Due time; the past is now, at most a year ahead.")),
    delaySeconds: z
      .optional(z.number().check(z.minimum(0), z.maximum(DELAY_SECONDS_MAX)))
      .check(
        z.describe("Due so many seconds from now, fractions included; not together with runAt."),
      ),
    maxAttempts: z
      .optional(
        z.int().check(z.minimum(MAX_ATTEMPTS_BOUNDS.min), z.maximum(MAX_ATTEMPTS_BOUNDS.max)),
      )
      .check(z.describe("Default: that of the type.")),
    dedupeKey: z
      .optional(z.string().check(z.minLength(1), z.maxLength(DEDUPE_KEY_LENGTH_MAX)))
      .check(z.describe("At most one active job has this key; default: what the type derives.")),
  })
  .check(
    z.refine(({ runAt, delaySeconds }) => runAt === undefined || delaySeconds === undefined, {
      path: ["delaySeconds"],
      message: "cannot be given together with runAt",
    }),
  );

export const reasonSchema = z
  .string()
  .check(z.maxLength(REASON_LENGTH_MAX), z.describe("Kept with the job's history."));

/** The body of operations that take nothing but a reason. */
export const reasonBodySchema = z.strictObject({ reason: z.optional(reasonSchema) });

export const jobParamsSchema = z.object({ id: z.uuid() });
export const effectParamsSchema = z.extend(jobParamsSchema, {
  name: z.string().check(z.regex(EFFECT_NAME_PATTERN)),
});
export const typeParamsSchema = z.object({ type: z.string().check(z.regex(JOB_TYPE_PATTERN)) });
