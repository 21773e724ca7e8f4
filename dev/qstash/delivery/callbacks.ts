import { postMessage } from "../operations/post-message.js";
import type { DeadLetter } from "../state/dead-letters.js";
import type { Answer, Message } from "../state/message.js";
import type { State } from "../state/state.js";
import { headerRecord } from "../wire/headers.js";
import type { CallbackOptions } from "../wire/publish-options.js";

/** Posts the callback that reports one attempt, if the message asked for it. */
export function postCallback(state: State, message: Message, answer: Answer): void {
  post(state, message, message.options.callback, report(message, answer));
}

/** Posts the failure callback that reports the end of a message. */
export function postFailureCallback(state: State, letter: DeadLetter): void {
  const { message, answer, dlqId } = letter;
  post(state, message, message.options.failureCallback, { ...report(message, answer), dlqId });
}

function post(
  state: State,
  message: Message,
  callback: CallbackOptions | undefined,
  content: object,
): void {
  if (!callback) return;
  const { url, ...delivery } = callback;
  const now = state.clock.now();
  postMessage(state, message.tenant, {
    route: { url },
    options: {
      ...delivery,
      delayMs: 0,
      contentBasedDeduplication: false,
      labels: [],
      // The report holds the message it is about.
      redaction: message.options.redaction,
    },
    publishHeaders: new Headers({ "content-type": "application/json" }),
    body: Buffer.from(JSON.stringify(content)),
    callerIp: message.callerIp,
    createdAt: now,
    dueAt: now,
    reportsOn: message,
  });
}

/** The body of a callback; instants are texts of milliseconds, as the documentation shows them. */
function report(message: Message, answer: Answer): object {
  const { options, route } = message;
  return {
    status: answer.status,
    header: headerRecord(answer.headers),
    body: (answer.error ? Buffer.from(answer.error) : answer.body).toString("base64"),
    retried: message.retried,
    maxRetries: options.maxRetries,
    sourceMessageId: message.messageId,
    topicName: route.topicName,
    endpointName: route.endpointName,
    url: route.url,
    method: options.method,
    sourceHeader: headerRecord(options.headers),
    sourceBody: message.body.toString("base64"),
    notBefore: String(message.notBefore),
    createdAt: String(message.createdAt),
    scheduleId: route.scheduleId,
    callerIP: message.callerIp,
  };
}
