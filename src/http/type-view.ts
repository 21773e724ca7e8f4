/** A job type as clients see it: its settings, and what operators set for it. */

import * as z from "zod/mini";
import type { TypeView } from "../engine/inspect.js";

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

/** Gives the members that clients see. */
export function typeView({ definition, state }: TypeView): z.input<typeof typeViewSchema> {
  return {
    type: definition.type,
    runsOn: definition.runsOn,
    maxAttempts: definition.maxAttempts,
    timeoutSeconds: definition.timeoutSeconds,
    leaseSeconds: definition.leaseSeconds,
    backoff: definition.backoff,
    flowControl: definition.flowControl ?? null,
    dedupeUntil: definition.dedupeUntil,
    paused: state.pausedAt !== null,
    pausedAt: state.pausedAt,
    pausedBy: state.pausedBy,
    pauseReason: state.pauseReason,
  };
}
