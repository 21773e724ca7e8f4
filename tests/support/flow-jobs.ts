/** Job types that do what a test says. */

import * as z from "zod";
import { defineJob, type JobDefinition, type Json } from "../../src/core/define-job.js";

/** What a handler is handed, whatever its payload. */
export type Context = Parameters<JobDefinition["run"]>[0];
export type Handler = (context: Context) => Promise<Json | void> | Json | void;
type Settings = Partial<
  Pick<
    Parameters<typeof defineJob>[0],
    | "maxAttempts"
    | "timeoutSeconds"
    | "leaseSeconds"
    | "dedupe"
    | "flowControl"
    | "payload"
    | "runsOn"
  >
> & { backoff?: { baseSeconds?: number; maxSeconds?: number; jitterSeconds?: number } };

export const TYPE = "test.script";

/** A type that runs this handler; without jitter, so that times can be told. */
export function scripted(run: Handler, settings: Settings = {}, type = TYPE): JobDefinition {
  return defineJob({
    type,
    payload: z.unknown(),
    ...settings,
    backoff: { baseSeconds: 30, maxSeconds: 3600, jitterSeconds: 0, ...settings.backoff },
    run,
  });
}

/** A handler that is called again and again: attempt n does what the n-th entry says. */
export function byAttempt(...handlers: Handler[]): Handler {
  return (context) => {
    const handler = handlers[context.attempt - 1] ?? handlers.at(-1);
    return handler?.(context);
  };
}

export const succeed =
  (result: Json = "done"): Handler =>
  () =>
    result;

/** Throws this value, whatever it is. */
export const throws =
  (value: unknown): Handler =>
  () => {
    throw value;
  };

/** A handler that stays in its work until the test lets it go. */
export interface Held {
  run: Handler;
  /** Resolves once it is in its work. */
  started: Promise<Context>;
  release(result?: Json): void;
  fail(error: unknown): void;
}

/** Makes one that ignores its signal, as code does that waits for something slow. */
export function held(): Held {
  const started = Promise.withResolvers<Context>();
  const end = Promise.withResolvers<Json>();
  return {
    run: (context) => {
      started.resolve(context);
      return end.promise;
    },
    started: started.promise,
    release: (result = "done") => end.resolve(result),
    fail: (error) => end.reject(error),
  };
}

/** Resolves when the signal aborts, with its reason. */
export const aborted = (signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    signal.addEventListener("abort", () => resolve(signal.reason), { once: true });
  });
