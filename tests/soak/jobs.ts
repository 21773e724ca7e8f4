/** The handlers of a soak: they follow their script and write down what they do. */

import {
  defineJob,
  FatalError,
  type JobContext,
  type JobDefinition,
  type Json,
  RetryAfterError,
} from "../../src/core/define-job.js";
import type { Timers } from "../../src/core/ports.js";
import type { Journal } from "./journal.js";
import {
  type Effect,
  LEASE_SECONDS,
  MAX_ATTEMPTS,
  type Script,
  SOAK_TYPES,
  type Step,
  scriptSchema,
  TIMEOUT_SECONDS,
} from "./script.js";

export interface Stagehands {
  /** Of this incarnation of the process. */
  processName: string;
  journal: Journal;
  timers: Timers;
  /** How many times faster than real time the clocks run. */
  speed: number;
}

/** Makes the job types; all of them share one handler. */
export function soakJobs(hands: Stagehands): JobDefinition[] {
  const run = createHandler(hands);
  const common = {
    payload: scriptSchema,
    maxAttempts: MAX_ATTEMPTS,
    timeoutSeconds: TIMEOUT_SECONDS,
    leaseSeconds: LEASE_SECONDS,
    backoff: { baseSeconds: 1, maxSeconds: 8, jitterSeconds: 1 },
    run,
  };
  return [
    defineJob({ ...common, type: SOAK_TYPES.plain }),
    defineJob({ ...common, type: SOAK_TYPES.effects }),
    defineJob({ ...common, type: SOAK_TYPES.rude }),
    defineJob({
      ...common,
      type: SOAK_TYPES.limited,
      flowControl: { parallelism: 6, rate: 60, periodSeconds: 10 },
    }),
    defineJob({ ...common, type: SOAK_TYPES.unique, dedupe: { until: "finished" } }),
    defineJob({ ...common, type: SOAK_TYPES.uniqueStart, dedupe: { until: "started" } }),
  ];
}

function createHandler(hands: Stagehands) {
  let runs = 0;
  return async (context: JobContext<Script>): Promise<Json> => {
    const { journal, processName } = hands;
    const { operationId: job, attempt } = context;
    runs += 1;
    const nonce = `${processName}-${runs}`;
    journal.write({ is: "started", process: processName, job, attempt, nonce });
    let how = "threw";
    try {
      await follow(context, hands);
      how = "returned";
      return { attempt, nonce };
    } finally {
      journal.write({ is: "ended", job, attempt, nonce, how });
    }
  };
}

async function follow(context: JobContext<Script>, hands: Stagehands): Promise<void> {
  const { payload: script, attempt } = context;
  if (script.reportsProgress) await context.progress({ attempt });
  for (const effect of script.effects) await runEffect(context, hands, effect);
  await hands.timers.sleep(script.workMs, context.signal);
  await act(context, hands, byAttempt(script.steps, attempt));
  if (script.reportsProgress) await context.progress({ attempt, nearlyDone: true });
}

async function runEffect(
  context: JobContext<Script>,
  hands: Stagehands,
  effect: Effect,
): Promise<void> {
  const { operationId: job, attempt } = context;
  const { name, ifUnknown } = effect;
  const perform = async (): Promise<Json> => {
    hands.journal.write({ is: "effect_ran", job, attempt, name });
    await hands.timers.sleep(200);
    const end = byAttempt(effect.ends, attempt);
    if (end === "refused") throw Object.assign(new Error("refused"), { status: 429 });
    if (end === "unclear") throw new Error("no answer from downstream");
    return { attempt };
  };
  await context.once(name, perform, { ifUnknown });
}

async function act(context: JobContext<Script>, hands: Stagehands, step: Step): Promise<void> {
  const { timers, speed } = hands;
  switch (step) {
    case "succeed":
      return;
    case "throw":
      throw new Error("scripted to fail");
    case "throw_fatal":
      throw new FatalError("scripted to fail for good");
    case "throw_retry_after":
      throw new RetryAfterError(2);
    case "throw_http_422":
      throw Object.assign(new Error("unprocessable"), { status: 422 });
    case "snooze":
      context.snooze(1);
      return;
    case "hang":
      await timers.sleep(100 * TIMEOUT_SECONDS * 1000, context.signal);
      context.signal.throwIfAborted();
      return;
    case "ignore_abort":
      await timers.sleep((TIMEOUT_SECONDS + 6) * 1000);
      return;
    case "block":
      blockFor((1.5 * LEASE_SECONDS * 1000) / speed);
      return;
    case "exit":
      process.kill(process.pid, "SIGKILL");
      await new Promise(() => {});
  }
}

/** No timer fires meanwhile, as in any synchronous work. */
function blockFor(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

/** The item of an attempt, which counts from 1. */
function byAttempt<Item>(items: readonly Item[], attempt: number): Item {
  const item = items[Math.min(attempt, items.length) - 1];
  if (item === undefined) throw new Error("a script is never empty");
  return item;
}
