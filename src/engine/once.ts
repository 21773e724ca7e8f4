/** The effect ledger: an effect recorded as done is not run again for its job (I11). */

import type { ClaimedAttempt, EffectEnd, EffectRef } from "../core/attempt.js";
import type { EffectContext, Json, OnceOptions } from "../core/define-job.js";
import { FatalError, httpStatusOf, LeaseLostError } from "../core/errors.js";
import type { Ports } from "../core/ports.js";
import { cancelRequest } from "./keep-lease.js";
import { storableJson } from "./storable-json.js";

/** Evidence of a call, not its content: enough to settle a dispute. */
const TRACE_BYTES_MAX = 4096;

/**
 * Runs an effect under the ledger, or gives the result of the attempt that did.
 *
 * Order:  intent recorded under the lock token, effect, result recorded under the same token.
 * Errors: `LeaseLostError`, the cancel request, `FatalError` with `effect_unknown`, or what the
 *         effect threw: then it is known not to have happened (fatal, retry-after, HTTP 4xx), or
 *         unknown.
 */
export async function once<Result extends Json | void>(
  ports: Ports,
  attempt: ClaimedAttempt,
  abort: AbortController,
  call: {
    name: string;
    effect: (context: EffectContext) => Promise<Result> | Result;
    options: OnceOptions;
  },
): Promise<Result> {
  const { name, effect, options } = call;
  const ref: EffectRef = { jobId: attempt.jobId, lockToken: attempt.lockToken, name };
  const begun = await ports.store.beginEffect(ref, options.ifUnknown !== "dead_letter");
  switch (begun.kind) {
    case "done":
      return begun.result as Result;
    case "lease_lost":
      abort.abort(new LeaseLostError());
      throw new LeaseLostError();
    case "cancelled":
      abort.abort(cancelRequest());
      throw cancelRequest();
    case "unknown":
      throw new FatalError(
        `effect "${name}" was started by an earlier attempt that never said how it ended; settle it, then replay`,
        { code: "effect_unknown" },
      );
    case "run":
      return perform(ports, ref, effect);
  }
}

async function perform<Result extends Json | void>(
  ports: Ports,
  ref: EffectRef,
  effect: (context: EffectContext) => Promise<Result> | Result,
): Promise<Result> {
  let trace: Json = null;
  const context: EffectContext = {
    operationId: `${ref.jobId}:${ref.name}`,
    trace: (evidence) => {
      const kept = storableJson(evidence, TRACE_BYTES_MAX);
      trace = kept.omitted ? { omitted: kept.omitted } : kept.value;
    },
  };
  let result: Result;
  try {
    result = await effect(context);
  } catch (thrown) {
    await end(ports, ref, { kind: isKnownNotDone(thrown) ? "not_done" : "unknown", trace });
    throw thrown;
  }
  const { value, omitted } = storableJson(result);
  if (omitted) ports.log("result_omitted", { jobId: ref.jobId, effect: ref.name, reason: omitted });
  const kept = await ports.store.endEffect(ref, { kind: "done", result: value, trace });
  if (!kept) ports.log("effect_end_refused", { jobId: ref.jobId, effect: ref.name });
  return result;
}

/** An unknown end needs no record of its own, so only a trace is worth a statement. */
async function end(ports: Ports, ref: EffectRef, ended: EffectEnd): Promise<void> {
  if (ended.kind === "unknown" && ended.trace === null) return;
  try {
    await ports.store.endEffect(ref, ended);
  } catch {
    // The effect stays "started": the next attempt treats it as unknown, which is the truth.
  }
}

/** Thrown on purpose, before or instead of the effect. */
const STEERING_ERRORS = ["FatalError", "RetryAfterError", "SnoozeSignal"];

/** These errors say that the effect was not begun, or that the downstream refused it. */
function isKnownNotDone(thrown: unknown): boolean {
  try {
    const name = (thrown as { name?: unknown } | null | undefined)?.name;
    if (STEERING_ERRORS.includes(String(name))) return true;
    const status = httpStatusOf(thrown);
    return status !== undefined && status >= 400 && status <= 499;
  } catch {
    // What cannot even be read says nothing about the effect.
    return false;
  }
}
