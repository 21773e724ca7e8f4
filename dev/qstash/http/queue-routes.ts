import * as z from "zod";
import { cancelMessage } from "../operations/cancel-message.js";
import { ensureQueue } from "../operations/ensure-queue.js";
import type { Queue } from "../state/queues.js";
import { ApiError } from "../wire/api-error.js";
import { parseBody } from "./request-body.js";
import { type ApiAnswer, type Context, ok, type Route } from "./router.js";

/** Queues: making, reading, pausing and deleting them. */
export const queueRoutes: readonly Route[] = [
  { method: "POST", pattern: "/v2/queues", handle: upsert },
  { method: "GET", pattern: "/v2/queues", handle: list },
  { method: "GET", pattern: "/v2/queues/:name", handle: show },
  { method: "DELETE", pattern: "/v2/queues/:name", handle: remove },
  { method: "POST", pattern: "/v2/queues/:name/pause", handle: (context) => pause(context, true) },
  {
    method: "POST",
    pattern: "/v2/queues/:name/resume",
    handle: (context) => pause(context, false),
  },
];

const upsertSchema = z.object({
  queueName: z.string(),
  parallelism: z.number().int().positive().default(1),
  paused: z.boolean().default(false),
});

function upsert({ state, tenant, request }: Context): ApiAnswer {
  const { queueName, parallelism, paused } = parseBody(request.body, upsertSchema);
  const { maxParallelism } = state.plan;
  if (parallelism > maxParallelism) {
    throw new ApiError(412, `quota maxParallelism exceeded, current limit: ${maxParallelism}`);
  }
  const queue = ensureQueue(state, tenant, queueName);
  queue.parallelism = parallelism;
  queue.isPaused = paused;
  queue.updatedAt = state.clock.now();
  state.onChange();
  return ok;
}

function list(context: Context): ApiAnswer {
  return { status: 200, body: context.tenant.queues.list().map((queue) => view(context, queue)) };
}

function show(context: Context): ApiAnswer {
  return { status: 200, body: view(context, find(context)) };
}

/** Deletes a queue; what still waited in it is cancelled, since its order could not be kept. */
function remove(context: Context): ApiAnswer {
  const { state, tenant } = context;
  const queue = find(context);
  for (const message of waitingIn(context, queue)) cancelMessage(state, message);
  tenant.queues.delete(queue.name);
  return ok;
}

function pause(context: Context, isPaused: boolean): ApiAnswer {
  const queue = find(context);
  queue.isPaused = isPaused;
  queue.updatedAt = context.state.clock.now();
  context.state.onChange();
  return ok;
}

function view(context: Context, queue: Queue): object {
  return {
    name: queue.name,
    parallelism: queue.parallelism,
    createdAt: queue.createdAt,
    updatedAt: queue.updatedAt,
    lag: waitingIn(context, queue).length,
    paused: queue.isPaused,
  };
}

function waitingIn({ state, tenant }: Context, queue: Queue) {
  return state.mailbox
    .all()
    .filter(
      (message) =>
        message.tenant === tenant && message.route.queueName === queue.name && !message.isCopy,
    );
}

function find({ tenant, params }: Context): Queue {
  const queue = tenant.queues.get(params.name ?? "");
  if (!queue) throw new ApiError(404, `queue ${params.name} not found`);
  return queue;
}
