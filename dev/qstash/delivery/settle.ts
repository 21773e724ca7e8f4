import type { Answer, Message } from "../state/message.js";
import { releaseQueuePlace } from "../state/queues.js";
import type { State } from "../state/state.js";
import { readRetryAfterMs } from "../wire/retry-after.js";
import { compileRetryDelay } from "../wire/retry-delay.js";
import { postCallback, postFailureCallback } from "./callbacks.js";

export type Outcome = "delivered" | "retry" | "failed" | "canceled";

const nonRetryableStatus = 489;
const maxBackoffSeconds = 86_400;

/** Decides what an attempt's answer means for its message, and writes that down. */
export function settle(state: State, message: Message, answer: Answer): Outcome {
  const now = state.clock.now();
  const { events } = message.tenant;
  if (isSuccess(answer)) {
    events.record(message, "DELIVERED", now);
    if (!message.isCopy) postCallback(state, message, answer);
    return finish(state, message, "delivered");
  }
  if (message.isCopy) return finish(state, message, "failed");
  events.record(message, "ERROR", now, { answer });
  postCallback(state, message, answer);
  if (message.cancelRequested) {
    events.record(message, "CANCELED", now);
    return finish(state, message, "canceled");
  }
  if (message.retried >= message.options.maxRetries || isNonRetryable(answer)) {
    return fail(state, message, answer);
  }
  const nextDeliveryAt = now + retryDelayMs(message, answer, now);
  message.retried += 1;
  events.record(message, "RETRY", now, { nextDeliveryAt });
  state.mailbox.add(message, nextDeliveryAt);
  return "retry";
}

/** Ends a message: its queue may go on once its callbacks are through, too. */
export function finish<T extends Exclude<Outcome, "retry">>(
  state: State,
  message: Message,
  phase: T,
): T {
  message.phase = phase;
  if (!message.isCopy) message.tenant.noteFinished(message, state.clock.now());
  releaseQueuePlace(message);
  return phase;
}

/** Only 2xx is a success: redirects are failures and are not followed. */
export function isSuccess(answer: Answer): boolean {
  return answer.status >= 200 && answer.status < 300;
}

function fail(state: State, message: Message, answer: Answer): "failed" {
  const now = state.clock.now();
  message.tenant.events.record(message, "FAILED", now);
  postFailureCallback(state, message.tenant.deadLetters.add(message, answer, now));
  return finish(state, message, "failed");
}

function isNonRetryable({ status, headers }: Answer): boolean {
  return status === nonRetryableStatus && headers.get("Upstash-NonRetryable-Error") === "true";
}

function retryDelayMs(message: Message, answer: Answer, now: number): number {
  const asked = readRetryAfterMs(answer.headers, now);
  if (asked !== undefined) return asked;
  const { retryDelayExpression } = message.options;
  if (retryDelayExpression) return compileRetryDelay(retryDelayExpression)(message.retried);
  const seconds = Math.min(maxBackoffSeconds, Math.exp(2.5 * (message.retried + 1)));
  return Math.round(seconds * 1000);
}
