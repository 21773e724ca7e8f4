import { retryDeadLetter } from "../operations/retry-dead-letter.js";
import type { DeadLetter } from "../state/dead-letters.js";
import { retentionStartAt } from "../state/state.js";
import { deadLetterView } from "../views/message-view.js";
import { ApiError } from "../wire/api-error.js";
import { readFilter, readPage } from "./filters.js";
import { type ApiAnswer, type Context, ok, type Route } from "./router.js";

/** Dead letters: reading, deleting and sending them again. */
export const dlqRoutes: readonly Route[] = [
  { method: "GET", pattern: "/v2/dlq", handle: list },
  { method: "GET", pattern: "/v2/dlq/:dlqId", handle: show },
  { method: "DELETE", pattern: "/v2/dlq", handle: removeMany },
  { method: "DELETE", pattern: "/v2/dlq/:dlqId", handle: removeOne },
  { method: "POST", pattern: "/v2/dlq/retry", handle: retryMany },
  { method: "POST", pattern: "/v2/dlq/retry/:dlqId", handle: retryOne },
];

const filterKeys = [
  "callerIp",
  "dlqIds",
  "flowControlKey",
  "fromDate",
  "label",
  "messageId",
  "queueName",
  "responseStatus",
  "scheduleId",
  "toDate",
  "topicName",
  "url",
];

const limits = { defaultCount: 100, maxCount: 100 };

function list(context: Context): ApiAnswer {
  const { page, cursor } = select(context);
  return { status: 200, body: { messages: page.map(deadLetterView), cursor } };
}

function show(context: Context): ApiAnswer {
  return { status: 200, body: deadLetterView(find(context)) };
}

function removeOne(context: Context): ApiAnswer {
  context.tenant.deadLetters.delete(find(context).dlqId);
  return ok;
}

function removeMany(context: Context): ApiAnswer {
  const { page, cursor } = select(context);
  for (const { dlqId } of page) context.tenant.deadLetters.delete(dlqId);
  return { status: 200, body: { deleted: page.length, cursor } };
}

function retryOne(context: Context): ApiAnswer {
  const { state, request } = context;
  const { messageId } = retryDeadLetter(state, find(context), request.headers);
  return { status: 201, body: { messageId } };
}

function retryMany(context: Context): ApiAnswer {
  const { state, request } = context;
  const { page, cursor = "" } = select(context);
  const responses = page.map((letter) => {
    const { messageId } = retryDeadLetter(state, letter, request.headers);
    return { messageId };
  });
  return { status: 201, body: { responses, cursor } };
}

function select({ state, tenant, request }: Context) {
  const matches = readFilter(request.query, filterKeys);
  const letters = tenant.deadLetters
    .newestFirst(retentionStartAt(state))
    .filter((letter) => matches({ ...letter, responseStatus: statusOf(letter) }));
  return readPage(letters, request.query, limits);
}

function statusOf({ answer }: DeadLetter): number | undefined {
  return answer.error === undefined ? answer.status : undefined;
}

function find({ state, tenant, params }: Context): DeadLetter {
  const letter = tenant.deadLetters.get(params.dlqId ?? "");
  if (!letter || letter.at < retentionStartAt(state)) {
    throw new ApiError(404, `dead letter ${params.dlqId} not found`);
  }
  return letter;
}
