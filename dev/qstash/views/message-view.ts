import { isUtf8 } from "node:buffer";
import type { DeadLetter } from "../state/dead-letters.js";
import type { Message } from "../state/message.js";
import { headerRecord } from "../wire/headers.js";
import type { CallbackOptions, PublishOptions } from "../wire/publish-options.js";
import { redacted, redactHeaders } from "../wire/redaction.js";

/** A message as the API shows it. Members that are undefined are left out of the JSON. */
export function messageView(message: Message): object {
  const { options, route } = message;
  return {
    messageId: message.messageId,
    ...route,
    method: options.method,
    header: headerRecord(redactHeaders(options.headers, options.redaction)),
    ...bodyView(message.body, options),
    maxRetries: options.maxRetries,
    retryDelayExpression: options.retryDelayExpression,
    notBefore: message.notBefore,
    createdAt: message.createdAt,
    ...callbackView(options),
    callerIP: message.callerIp,
    ...labelView(options),
    ...flowControlView(options),
  };
}

/** A dead letter as the API shows it: its message and the last answer. */
export function deadLetterView({ message, dlqId, answer }: DeadLetter): object {
  const isAnswered = answer.error === undefined;
  return {
    ...messageView(message),
    dlqId,
    responseStatus: isAnswered ? answer.status : undefined,
    responseHeader: isAnswered ? headerRecord(answer.headers) : undefined,
    ...responseBody(isAnswered ? answer.body : Buffer.from(answer.error ?? "")),
  };
}

/** The body as text, or in base64 when it is no UTF-8; nothing for an empty one. */
export function bodyView(
  body: Buffer,
  { redaction }: PublishOptions,
): { body?: string; bodyBase64?: string } {
  if (body.length === 0) return {};
  if (redaction.body) return { body: redacted(body) };
  return isUtf8(body) ? { body: body.toString() } : { bodyBase64: body.toString("base64") };
}

/** All labels, and the first one under its older name. */
export function labelView({ labels }: PublishOptions): object {
  return labels.length > 0 ? { label: labels[0], labels } : {};
}

/** The flow control a message asked for. */
export function flowControlView({ flowControl }: PublishOptions): object {
  if (!flowControl) return {};
  const { key, parallelism, rate, periodSeconds } = flowControl;
  return { flowControlKey: key, parallelism, rate, period: periodSeconds };
}

function callbackView({ callback, failureCallback }: PublishOptions): object {
  return {
    callback: callback?.url,
    callbackHeader: extraHeaders(callback),
    failureCallback: failureCallback?.url,
    failureCallbackHeader: extraHeaders(failureCallback),
  };
}

/** The headers a callback was given; the Content-Type that every callback has is not one of them. */
export function extraHeaders(
  callback: CallbackOptions | undefined,
): Record<string, string[]> | undefined {
  const given = callback?.headers.filter(([name]) => name !== "Content-Type") ?? [];
  return given.length > 0 ? headerRecord(given) : undefined;
}

function responseBody(body: Buffer): { responseBody?: string; responseBodyBase64?: string } {
  if (body.length === 0) return {};
  return isUtf8(body)
    ? { responseBody: body.toString() }
    : { responseBodyBase64: body.toString("base64") };
}
