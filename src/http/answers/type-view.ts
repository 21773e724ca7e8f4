/** The schema of a job type as clients see it. */

import * as z from "zod/mini";

export const typeViewSchema = z.object({
  type: z.string(),
  runsOn: z.enum(["qstash", "worker"]),
  maxAttempts: z.int(),
  timeoutSeconds: z.int(),
  leaseSeconds: z.int(),
  backoff: z.object({
    baseSeconds: z.number(),
    maxSeconds: z.number(),
    jitterSeconds: z.number(),
  }),
  flowControl: z.nullable(
    z.object({
      parallelism: z.optional(z.number()),
      rate: z.optional(z.number()),
      periodSeconds: z.optional(z.number()),
    }),
  ),
  dedupeUntil: z.enum(["finished", "started"]),
  paused: z.boolean(),
  pausedAt: z.nullable(z.iso.datetime()),
  pausedBy: z.nullable(z.string()).check(z.describe("Name of the key that paused it.")),
  pauseReason: z.nullable(z.string()),
});
