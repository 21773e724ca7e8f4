/** The tools of a running handler: effects, progress, snooze, log. */

import type { ClaimedAttempt } from "../core/attempt.js";
import type { EffectContext, JobContext, OnceOptions } from "../core/define-job.js";
import { checkEffectName, FatalError } from "../core/define-job.js";
import { LeaseLostError, SnoozeSignal } from "../core/errors.js";
import type { Json } from "../core/job.js";
import type { Ports } from "../core/ports.js";
import { obey } from "./keep-lease.js";
import { once } from "./once.js";
import { storableJson } from "./storable-json.js";

/** What a handler said besides its result. */
export interface HandlerState {
  snoozedForSeconds: number | undefined;
}

/** A snooze of more than a year is a mistake, as is a run time that far ahead. */
const SNOOZE_SECONDS_MAX = 365 * 86_400;
const PROGRESS_BYTES_MAX = 16_384;

/** Builds the context of one attempt. */
export function createJobContext(
  ports: Ports,
  attempt: ClaimedAttempt,
  parts: { payload: unknown; abort: AbortController; state: HandlerState },
): JobContext<unknown> {
  const { abort, state } = parts;
  const started = new Set<string>();
  return {
    payload: parts.payload,
    operationId: attempt.jobId,
    attempt: attempt.attempt,
    signal: abort.signal,
    traceparent: attempt.traceparent,
    env: ports.env,
    outboundFetch: ports.outboundFetch,
    once: <Result extends Json | void>(
      name: string,
      effect: (context: EffectContext) => Promise<Result> | Result,
      options: OnceOptions = {},
    ): Promise<Result> =>
      contained(async () => {
        checkEffectName(name);
        if (started.has(name)) throw new FatalError(`effect "${name}" was started twice`);
        started.add(name);
        return once(ports, attempt, abort, { name, effect, options });
      }),
    progress: (value) =>
      contained(async () => {
        const { value: stored, omitted } = storableJson(value, PROGRESS_BYTES_MAX);
        if (omitted) throw new FatalError(`progress cannot be stored: ${omitted}`);
        const outcome = await ports.store.heartbeat(attempt, stored);
        obey(outcome, abort);
        if (outcome.kind === "lease_lost") throw new LeaseLostError();
      }),
    snooze: (delaySeconds) => {
      if (!Number.isFinite(delaySeconds) || delaySeconds < 0 || delaySeconds > SNOOZE_SECONDS_MAX) {
        throw new FatalError(`snooze takes 0 to ${SNOOZE_SECONDS_MAX} seconds`);
      }
      state.snoozedForSeconds = delaySeconds;
      throw new SnoozeSignal(delaySeconds);
    },
    log: (message, fields = {}) => {
      const { jobId, type, attempt: number, traceparent } = attempt;
      // A line that cannot be written is no reason to fail the job.
      const { value, omitted } = storableJson(fields);
      const written = omitted ?? JSON.stringify(value);
      ports.log("handler_log", {
        jobId,
        type,
        attempt: number,
        traceparent,
        message,
        fields: Object.keys(fields).length > 0 ? written : undefined,
      });
    },
  };
}

/**
 * Makes a call whose failure reaches whoever waits for it, and nobody else: unhandled, the rejection
 * of a call that a handler left behind would end the process, and other jobs with it.
 */
function contained<Result>(call: () => Promise<Result>): Promise<Result> {
  const result = call();
  result.catch(() => undefined);
  return result;
}
