import { Cron } from "croner";
import type { Schedule } from "../state/schedule.js";
import type { State } from "../state/state.js";
import type { Tenant } from "../state/tenant.js";
import { ApiError } from "../wire/api-error.js";
import { newId } from "../wire/ids.js";
import { assertName } from "../wire/names.js";
import { acceptMessage, type PreparedMessage } from "./publish.js";

/** What a schedule is made of. */
export interface ScheduleRequest {
  readonly cron: string;
  readonly scheduleId?: string;
  readonly prepared: PreparedMessage;
  readonly callerIp: string;
}

/** Creates a schedule; one with the same id is replaced as a whole. */
export function putSchedule(state: State, tenant: Tenant, request: ScheduleRequest): Schedule {
  const scheduleId = request.scheduleId ?? newId("scd");
  assertName(scheduleId, "schedule id");
  const { maxSchedules } = state.plan;
  if (!tenant.schedules.has(scheduleId) && tenant.schedules.size >= maxSchedules) {
    throw new ApiError(412, `quota maxSchedules exceeded, current limit: ${maxSchedules}`);
  }
  const now = state.clock.now();
  const cron = request.cron.trim();
  const nextAt = firstAfter(cron, now);
  if (nextAt === undefined) {
    throw new ApiError(400, `invalid cron expression: ${cron} never fires`);
  }
  const schedule: Schedule = {
    scheduleId,
    cron,
    prepared: request.prepared,
    callerIp: request.callerIp,
    createdAt: now,
    isPaused: false,
    nextAt,
    lastMessages: [],
  };
  tenant.schedules.set(scheduleId, schedule);
  state.onChange();
  return schedule;
}

/** Stops a schedule from firing; slots that pass meanwhile are lost. */
export function pauseSchedule(schedule: Schedule): void {
  schedule.isPaused = true;
  schedule.nextAt = undefined;
}

/** Lets a paused schedule go on with its next slot. */
export function resumeSchedule(state: State, schedule: Schedule): void {
  if (!schedule.isPaused) return;
  schedule.isPaused = false;
  schedule.nextAt = firstAfter(schedule.cron, state.clock.now());
  state.onChange();
}

/** Publishes the message of every slot that has passed, in the order of the slots. */
export function fireDueSchedules(state: State): void {
  const now = state.clock.now();
  for (let due = nextDue(state); due && due.at <= now; due = nextDue(state)) {
    fire(state, due.tenant, due.schedule, due.at);
  }
}

/** When the next schedule of any user fires. */
export function nextScheduleAt(state: State): number | undefined {
  return nextDue(state)?.at;
}

function nextDue(state: State) {
  let next: { at: number; tenant: Tenant; schedule: Schedule } | undefined;
  for (const tenant of state.tenants) {
    for (const schedule of tenant.schedules.values()) {
      const at = schedule.nextAt;
      if (at !== undefined && (!next || at < next.at)) next = { at, tenant, schedule };
    }
  }
  return next;
}

function fire(state: State, tenant: Tenant, schedule: Schedule, at: number): void {
  schedule.lastAt = at;
  schedule.nextAt = firstAfter(schedule.cron, at);
  try {
    const origin = { callerIp: schedule.callerIp, at, scheduleId: schedule.scheduleId };
    const published = [acceptMessage(state, tenant, schedule.prepared, origin)].flat();
    schedule.error = undefined;
    schedule.lastMessages = published
      .map(({ messageId }) => tenant.findMessage(messageId))
      .filter((message) => message !== undefined);
  } catch (error) {
    // For example a URL group that is gone: shown on the schedule, which goes on.
    schedule.error = error instanceof Error ? error.message : String(error);
    schedule.lastMessages = [];
  }
}

/** The first slot after an instant, undefined for a date that never comes. */
function firstAfter(cron: string, at: number): number | undefined {
  const { timeZone, pattern } = splitZone(cron);
  try {
    const slots = new Cron(pattern, { timezone: timeZone, mode: "5-part" });
    return slots.nextRun(new Date(at))?.getTime();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ApiError(400, `invalid cron expression: ${reason}`);
  }
}

function splitZone(cron: string): { timeZone: string; pattern: string } {
  const [, timeZone = "UTC", pattern = ""] = /^(?:CRON_TZ=(\S+)\s+)?(.*)$/s.exec(cron) ?? [];
  return { timeZone, pattern };
}
