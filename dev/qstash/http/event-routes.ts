import { retentionStartAt } from "../state/state.js";
import { eventView } from "../views/event-view.js";
import { readFilter, readPage } from "./filters.js";
import type { ApiAnswer, Context, Route } from "./router.js";

/** The log of what happened, under the client's and the documentation's name for it. */
export const eventRoutes: readonly Route[] = [
  { method: "GET", pattern: "/v2/events", handle: list },
  { method: "GET", pattern: "/v2/logs", handle: list },
];

const filterKeys = [
  "callerIp",
  "flowControlKey",
  "fromDate",
  "host",
  "label",
  "messageId",
  "messageIds",
  "path",
  "queueName",
  "scheduleId",
  "state",
  "toDate",
  "topicName",
  "url",
];

function list({ state, tenant, request }: Context): ApiAnswer {
  const matches = readFilter(request.query, filterKeys);
  const found = tenant.events.newestFirst(retentionStartAt(state)).filter(matches);
  const limits = { defaultCount: 100, maxCount: 1000 };
  const { page, cursor } = readPage(found, request.query, limits);
  const events = page.map(eventView);
  // The client reads `events`, the documentation says `logs`.
  return { status: 200, body: { cursor, events, logs: events } };
}
