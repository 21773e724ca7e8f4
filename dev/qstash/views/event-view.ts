import type { LogEvent } from "../state/events.js";
import { headerRecord } from "../wire/headers.js";
import { redacted, redactHeaders } from "../wire/redaction.js";
import { extraHeaders, labelView } from "./message-view.js";

/** A log entry as the API shows it; bodies are in base64. */
export function eventView({ at, state, message, nextDeliveryAt, answer }: LogEvent): object {
  const { options, route, body } = message;
  const { redaction, callback, failureCallback } = options;
  return {
    time: at,
    state,
    messageId: message.messageId,
    ...route,
    method: options.method,
    header: headerRecord(redactHeaders(options.headers, redaction)),
    body: body.length === 0 ? undefined : redaction.body ? redacted(body) : base64(body),
    error: answer && (answer.error ?? `destination answered with status ${answer.status}`),
    nextDeliveryTime: nextDeliveryAt,
    timeout: options.timeoutMs,
    maxRetries: options.maxRetries,
    retryDelayExpression: options.retryDelayExpression,
    callback: callback?.url,
    callbackHeaders: extraHeaders(callback),
    failureCallback: failureCallback?.url,
    failureCallbackHeaders: extraHeaders(failureCallback),
    flowControlKey: options.flowControl?.key,
    ...labelView(options),
    ...responseView(answer),
  };
}

function responseView(answer: LogEvent["answer"]): object {
  if (!answer || answer.error !== undefined) return {};
  return {
    responseStatus: answer.status,
    responseBody: base64(answer.body),
    responseHeaders: headerRecord(answer.headers),
  };
}

function base64(body: Buffer): string {
  return body.toString("base64");
}
