/** Runs one handler under its lease, its time limit and its cancel requests; never throws. */

import type { AttemptReport, ClaimedAttempt } from "../core/attempt.js";
import { delaySeconds } from "../core/backoff.js";
import type { JobDefinition } from "../core/define-job.js";
import {
  AttemptAbortedError,
  classifyFailure,
  cutText,
  type Failure,
  FatalError,
} from "../core/errors.js";
import { UNKNOWN_TYPE_DELAY_SECONDS } from "../core/job.js";
import { safeParseAsync } from "../core/parse.js";
import type { Ports } from "../core/ports.js";
import { createJobContext, type HandlerState } from "./job-context.js";
import { keepLease } from "./keep-lease.js";
import { storableJson } from "./storable-json.js";

/** A handler that heard its signal may still clean up for this long before it is left behind. */
const ABORT_GRACE_SECONDS = 2;
/** Of an invocation: what claim, finish and publish need after the handler. */
const INVOCATION_RESERVE_SECONDS = 10;

/**
 * Runs the attempt's handler and reports how it ended.
 *
 * @param budgetSeconds what is left of the invocation; the handler gets less if its timeout is longer
 * Shape: a handler that ignores its signal is left behind at the deadline and reported as `timeout`.
 */
export async function run(
  ports: Ports,
  attempt: ClaimedAttempt,
  budgetSeconds: number,
): Promise<AttemptReport> {
  const definition = ports.registry.get(attempt.type);
  if (!definition) return { kind: "unknown_type", delaySeconds: UNKNOWN_TYPE_DELAY_SECONDS };
  const abort = new AbortController();
  const done = new AbortController();
  const state: HandlerState = { snoozedForSeconds: undefined };
  // A claim whose answer came late has only the rest of its lease; it is extended by a whole one.
  const held = { ...attempt, leaseSeconds: definition.leaseSeconds };
  const lease = keepLease(ports, held, abort, done.signal);
  const secondsMax = Math.min(
    definition.timeoutSeconds,
    Math.max(1, budgetSeconds - INVOCATION_RESERVE_SECONDS),
  );
  const handler = (async () => {
    // Under the time limit and the lease, too: a schema may ask somebody.
    const payload = await parsePayload(definition, attempt);
    abort.signal.throwIfAborted();
    return definition.run(createJobContext(ports, held, { payload, abort, state }));
  })();
  const ended = await raceDeadline(ports, handler, { secondsMax, abort, done: done.signal });
  done.abort();
  await lease;
  return reportOf(ports, definition, attempt, ended, state);
}

/** Gives the payload as today's schema makes it, or throws. */
async function parsePayload(definition: JobDefinition, attempt: ClaimedAttempt): Promise<unknown> {
  const parsed = await safeParseAsync(definition.payload, attempt.payload);
  if (parsed.success) return parsed.data;
  const places = parsed.error.issues.map(
    ({ path, message }) => `${path.map(String).join(".")}: ${message}`,
  );
  const message = `the payload no longer fits its schema: ${places.join("; ")}`;
  throw new FatalError(cutText(message, 2000), { code: "payload_invalid" });
}

type Ended = { result: unknown } | { thrown: unknown };

async function raceDeadline(
  ports: Ports,
  handler: Promise<unknown>,
  limit: { secondsMax: number; abort: AbortController; done: AbortSignal },
): Promise<Ended> {
  const settled: Promise<Ended> = handler.then(
    (result) => ({ result }),
    (thrown) => ({ thrown }),
  );
  const timeout = new AttemptAbortedError(
    "timeout",
    `the attempt was stopped after ${limit.secondsMax} s`,
  );
  const deadline = (async (): Promise<Ended> => {
    await ports.timers.sleep(limit.secondsMax * 1000, limit.done);
    if (!limit.done.aborted) limit.abort.abort(timeout);
    await ports.timers.sleep(ABORT_GRACE_SECONDS * 1000, limit.done);
    return { thrown: timeout };
  })();
  const ended = await Promise.race([settled, deadline]);
  // Whatever a handler threw after its time was up, the reason is that its time was up.
  const timedOut = limit.abort.signal.aborted && limit.abort.signal.reason === timeout;
  return timedOut && "thrown" in ended ? { thrown: timeout } : ended;
}

function reportOf(
  ports: Ports,
  definition: JobDefinition,
  attempt: ClaimedAttempt,
  ended: Ended,
  state: HandlerState,
): AttemptReport {
  // `snooze` counts even where the handler swallowed its signal.
  if (state.snoozedForSeconds !== undefined) {
    return { kind: "snooze", delaySeconds: state.snoozedForSeconds };
  }
  if ("result" in ended) {
    const { value, omitted } = storableJson(ended.result);
    if (omitted) ports.log("result_omitted", { jobId: attempt.jobId, reason: omitted });
    return { kind: "completed", result: value, resultOmitted: omitted };
  }
  return failureReport(ports, definition, attempt, ended.thrown);
}

function failureReport(
  ports: Ports,
  definition: JobDefinition,
  attempt: ClaimedAttempt,
  thrown: unknown,
): AttemptReport {
  const { kind, code, message, delaySeconds: asked, isCancel } = failureOf(thrown);
  if (kind === "fatal") return { kind, code, message };
  const backoff = () =>
    delaySeconds(definition.backoff, attempt.budgetUsed, ports.entropy.random());
  return { kind, code, message, delaySeconds: asked ?? backoff(), isCancel };
}

/** Whatever was thrown is recorded, also what throws when it is read. */
function failureOf(thrown: unknown): Failure {
  try {
    return classifyFailure(thrown, Date.now());
  } catch {
    const message = "a value that cannot be described was thrown";
    return { kind: "retry", code: "handler_error", message };
  }
}
