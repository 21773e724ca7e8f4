/** Job types of the crash sweep, and the world outside the database that their effects happen in. */

import * as z from "zod";
import {
  defineJob,
  FatalError,
  type JobContext,
  type JobDefinition,
} from "../../src/core/define-job.js";
import type { Json } from "../../src/core/job.js";

/** What handlers do, told by their payload, and what no database knows of. */
export interface Outside {
  /** Runs an effect: counts it, and gives the number of this time. */
  perform(jobId: string, effect: string): number;
  /** How often an effect happened. */
  times(jobId: string, effect: string): number;
  /** Jobs that fail until somebody mends what they need. */
  mended: Set<string>;
  /** Holds handlers at the gate: `reached` resolves once one is there, `release` lets it go on. */
  hold(): { reached: Promise<void>; release: () => void };
  /** Where a handler waits, if anybody holds it. */
  gate(): Promise<void>;
}

/** Makes an empty outside. */
export function createOutside(): Outside {
  const performed = new Map<string, number>();
  let held: { reached: PromiseWithResolvers<void>; opened: PromiseWithResolvers<void> } | undefined;
  return {
    perform(jobId, effect) {
      const times = (performed.get(`${jobId}:${effect}`) ?? 0) + 1;
      performed.set(`${jobId}:${effect}`, times);
      return times;
    },
    times: (jobId, effect) => performed.get(`${jobId}:${effect}`) ?? 0,
    mended: new Set(),
    hold() {
      const reached = Promise.withResolvers<void>();
      const opened = Promise.withResolvers<void>();
      held = { reached, opened };
      return {
        reached: reached.promise,
        release: () => {
          held = undefined;
          opened.resolve();
        },
      };
    },
    async gate() {
      held?.reached.resolve();
      await held?.opened.promise;
    },
  };
}

type Handler = (context: JobContext<unknown>, outside: Outside) => Promise<Json> | Json;

/** Effects that must happen once, in the order in which the handler asks for them. */
export const EFFECTS = ["first", "second", "third"] as const;
/** The effect whose downstream has no idempotency of its own. */
export const UNREPEATABLE = "second";

const handlers = {
  completes: () => ({ done: true }),
  retries: ({ attempt }) => {
    if (attempt === 1) throw new Error("no luck");
    return { done: true };
  },
  snoozes: ({ attempt, snooze }) => (attempt === 1 ? snooze(60) : { done: true }),
  needsMending: ({ operationId }, { mended }) => {
    if (!mended.has(operationId)) throw new FatalError("broken");
    return { done: true };
  },
  waits: async ({ progress, signal }, { gate }) => {
    await gate();
    await progress({ past: "the gate" });
    signal.throwIfAborted();
    return { done: true };
  },
  performs: async ({ once, operationId }, { perform }) => {
    const results: Record<string, Json> = {};
    for (const name of EFFECTS) {
      const options = name === UNREPEATABLE ? ({ ifUnknown: "dead_letter" } as const) : {};
      results[name] = await once(name, () => perform(operationId, name), options);
    }
    return results;
  },
  careless: ({ operationId }, { perform }) => ({ times: perform(operationId, UNREPEATABLE) }),
  doubts: async ({ once, operationId }, { perform }) =>
    once(
      "charge",
      () => {
        perform(operationId, "charge");
        throw new Error("the connection broke after the charge was sent");
      },
      { ifUnknown: "dead_letter" },
    ),
} satisfies Record<string, Handler>;

export type HandlerName = keyof typeof handlers;

export const LEASE_SECONDS = 60;

/** Defines a type of the scenario's own, so that no other scenario's traffic decides its sweeps. */
export function crashJob(type: string, handler: HandlerName, outside: Outside): JobDefinition {
  const run: Handler = handlers[handler];
  return defineJob({
    type,
    payload: z.unknown(),
    maxAttempts: 5,
    timeoutSeconds: 10,
    leaseSeconds: LEASE_SECONDS,
    backoff: { baseSeconds: 30, maxSeconds: 300, jitterSeconds: 0 },
    run: (context) => run(context, outside),
  });
}
