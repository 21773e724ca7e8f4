/** A job type as clients see it: its settings, and what operators set for it. */

import type * as z from "zod/mini";
import type { TypeView } from "../engine/inspect.js";
import type { typeViewSchema } from "./answers/type-view.js";

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
