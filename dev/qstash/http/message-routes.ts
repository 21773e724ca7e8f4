import { cancelMessage } from "../operations/cancel-message.js";
import type { Message } from "../state/message.js";
import { messageView } from "../views/message-view.js";
import { ApiError } from "../wire/api-error.js";
import { readFilter, valuesOf } from "./filters.js";
import type { ApiAnswer, Context, Route } from "./router.js";

/** Reading and cancelling messages that are not delivered yet. */
export const messageRoutes: readonly Route[] = [
  { method: "GET", pattern: "/v2/messages/:messageId", handle: show },
  { method: "DELETE", pattern: "/v2/messages/:messageId", handle: cancelOne },
  { method: "DELETE", pattern: "/v2/messages", handle: cancelMany },
];

/** A delivered message can still be read for a moment, since callers read right after publishing. */
const shownAfterFinishMs = 30_000;

const filterKeys = [
  "callerIp",
  "flowControlKey",
  "fromDate",
  "host",
  "label",
  "messageIds",
  "path",
  "queueName",
  "scheduleId",
  "toDate",
  "topicName",
  "url",
];

function show(context: Context): ApiAnswer {
  const message = find(context);
  const { finishedAt, phase } = message;
  const isGone =
    phase === "canceled" ||
    (finishedAt !== undefined && finishedAt + shownAfterFinishMs <= context.state.clock.now());
  if (isGone) throw notFound(message.messageId);
  return { status: 200, body: messageView(message) };
}

function cancelOne(context: Context): ApiAnswer {
  const message = find(context);
  if (!cancelMessage(context.state, message)) throw notFound(message.messageId);
  return { status: 200, body: { cancelled: 1 } };
}

/** Cancels by ids, by filters or, without any, all. The older `count` limit is ignored. */
function cancelMany({ state, tenant, request }: Context): ApiAnswer {
  const matches = readFilter(request.query, filterKeys);
  const ids = request.query.has("messageIds") ? valuesOf(request.query, "messageIds") : undefined;
  const wanted = tenant
    .unfinished()
    .filter((message) =>
      ids ? ids.includes(message.messageId) : matches({ message, at: message.createdAt }),
    );
  const cancelled = wanted.filter((message) => cancelMessage(state, message)).length;
  return { status: 200, body: { cancelled } };
}

function find({ tenant, params }: Context): Message {
  const messageId = params.messageId ?? "";
  const message = tenant.findMessage(messageId);
  if (!message) throw notFound(messageId);
  return message;
}

function notFound(messageId: string): ApiError {
  return new ApiError(404, `message ${messageId} not found`);
}
