import { deduplicationKey } from "../operations/publish.js";
import { pauseSchedule, putSchedule, resumeSchedule } from "../operations/schedules.js";
import type { Schedule } from "../state/schedule.js";
import { scheduleView } from "../views/schedule-view.js";
import { ApiError } from "../wire/api-error.js";
import { prepareFromTarget } from "./prepare-from-target.js";
import { type ApiAnswer, type Context, ok, type Route } from "./router.js";

/** Recurring publishes. Pausing is PATCH for the client and POST in the documentation: both do. */
export const scheduleRoutes: readonly Route[] = [
  { method: "GET", pattern: "/v2/schedules", handle: list },
  { method: "GET", pattern: "/v2/schedules/:scheduleId", handle: show },
  { method: "DELETE", pattern: "/v2/schedules/:scheduleId", handle: remove },
  { method: "PATCH", pattern: "/v2/schedules/:scheduleId/pause", handle: pause },
  { method: "POST", pattern: "/v2/schedules/:scheduleId/pause", handle: pause },
  { method: "PATCH", pattern: "/v2/schedules/:scheduleId/resume", handle: resume },
  { method: "POST", pattern: "/v2/schedules/:scheduleId/resume", handle: resume },
  { method: "POST", pattern: "/v2/schedules/*destination", handle: createSchedule },
];

/** Creates or replaces a schedule; a repeat of its deduplication id makes no second one. */
export async function createSchedule(context: Context): Promise<ApiAnswer> {
  const { state, tenant, request } = context;
  const header = (name: string) => request.headers.get(name) ?? undefined;
  const cron = header("upstash-cron");
  if (!cron) throw new ApiError(400, "missing Upstash-Cron header");
  const prepared = await prepareFromTarget(context, header("upstash-queue-name"));
  const now = state.clock.now();
  const url = "url" in prepared.target ? prepared.target.url : prepared.target.topicName;
  const given = deduplicationKey(prepared, { url });
  // Apart from the ids of messages: a repeat must be answered with a schedule.
  const key = given && `schedule ${given}`;
  const originalId = key && tenant.deduplication.find(key, now);
  if (originalId) return { status: 202, body: { scheduleId: originalId, deduplicated: true } };
  const { scheduleId } = putSchedule(state, tenant, {
    cron,
    scheduleId: header("upstash-schedule-id"),
    prepared,
    callerIp: request.callerIp,
  });
  if (key) tenant.deduplication.remember(key, scheduleId, now);
  return { status: 200, body: { scheduleId } };
}

function list({ tenant }: Context): ApiAnswer {
  return { status: 200, body: [...tenant.schedules.values()].map(scheduleView) };
}

function show(context: Context): ApiAnswer {
  return { status: 200, body: scheduleView(find(context)) };
}

function remove(context: Context): ApiAnswer {
  context.tenant.schedules.delete(find(context).scheduleId);
  return ok;
}

function pause(context: Context): ApiAnswer {
  pauseSchedule(find(context));
  return ok;
}

function resume(context: Context): ApiAnswer {
  resumeSchedule(context.state, find(context));
  return ok;
}

function find({ tenant, params }: Context): Schedule {
  const schedule = tenant.schedules.get(params.scheduleId ?? "");
  if (!schedule) throw new ApiError(404, `schedule ${params.scheduleId} not found`);
  return schedule;
}
