import {
  acceptAll,
  type PreparedMessage,
  type Published,
  prepareMessage,
} from "../operations/publish.js";
import { ApiError } from "../wire/api-error.js";
import { readDestination } from "../wire/destination.js";
import { prepareFromTarget } from "./prepare-from-target.js";
import { type BatchItem, readBatch } from "./request-body.js";
import type { ApiAnswer, Context, Route } from "./router.js";
import { createSchedule } from "./schedule-routes.js";

/** Publishing: one message, a message into a queue, many at once. */
export const publishRoutes: readonly Route[] = [
  { method: "POST", pattern: "/v2/publish/*destination", handle: publish, publishes: true },
  {
    method: "POST",
    pattern: "/v2/enqueue/:queueName/*destination",
    handle: enqueue,
    publishes: true,
  },
  { method: "POST", pattern: "/v2/batch", handle: batch, publishes: true },
];

async function publish(context: Context): Promise<ApiAnswer> {
  // The older way to make a schedule.
  if (context.request.headers.has("upstash-cron")) return createSchedule(context);
  return acceptOne(context, await prepareFromTarget(context));
}

async function enqueue(context: Context): Promise<ApiAnswer> {
  return acceptOne(context, await prepareFromTarget(context, context.params.queueName));
}

async function batch(context: Context): Promise<ApiAnswer> {
  const { state, tenant, request } = context;
  state.counts.batchRequests += 1;
  const items = readBatch(request.body);
  // All items are checked before the first is accepted: one that is over a limit rejects them all.
  const prepared: PreparedMessage[] = [];
  for (const item of items) prepared.push(await prepareItem(context, item));
  return { status: 200, body: acceptAll(state, tenant, prepared, request.callerIp) };
}

function prepareItem({ state, tenant }: Context, item: BatchItem): Promise<PreparedMessage> {
  return prepareMessage(state, tenant, {
    ...item,
    destination: readDestination(item.destination, undefined),
  });
}

function acceptOne({ state, tenant, request }: Context, prepared: PreparedMessage): ApiAnswer {
  const [published] = acceptAll(state, tenant, [prepared], request.callerIp);
  if (!published) throw new ApiError(500, "the message was not accepted");
  const isDuplicate = everyDeduplicated([published].flat());
  return { status: isDuplicate ? 202 : 200, body: published };
}

function everyDeduplicated(published: Published[]): boolean {
  return published.length > 0 && published.every((each) => each.deduplicated);
}
