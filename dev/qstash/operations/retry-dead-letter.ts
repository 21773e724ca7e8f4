import type { DeadLetter } from "../state/dead-letters.js";
import type { Message } from "../state/message.js";
import type { State } from "../state/state.js";
import {
  isConfigHeader,
  type PublishOptions,
  parsePublishOptions,
} from "../wire/publish-options.js";
import { postMessage } from "./post-message.js";
import { assertWithinPlan } from "./quota.js";

/** Belongs to the first publish alone: a retried message is sent now and is no repeat of it. */
const notRepeated = [
  "upstash-delay",
  "upstash-not-before",
  "upstash-deduplication-id",
  "upstash-content-based-deduplication",
];

/** Sends a dead letter again as a new message; configuration headers of the retry override its own. */
export function retryDeadLetter(state: State, letter: DeadLetter, overrides: Headers): Message {
  const { message } = letter;
  const publishHeaders = new Headers(message.publishHeaders);
  for (const name of notRepeated) publishHeaders.delete(name);
  const changed = [...overrides].filter(([name]) => isConfigHeader(name));
  for (const [name, value] of changed) publishHeaders.set(name, value);
  const options = changed.length > 0 ? parsePublishOptions(publishHeaders) : again(message.options);
  assertWithinPlan(state, { options, body: message.body });
  message.tenant.deadLetters.delete(letter.dlqId);
  const now = state.clock.now();
  return postMessage(state, message.tenant, {
    route: message.route,
    options,
    publishHeaders,
    body: message.body,
    callerIp: message.callerIp,
    createdAt: now,
    dueAt: options.notBeforeAt ?? now + options.delayMs,
  });
}

function again(options: PublishOptions): PublishOptions {
  return { ...options, delayMs: 0, notBeforeAt: undefined, deduplicationId: undefined };
}
