/** Recurring jobs as the API gives them, and as people read them. */

import { jsonText } from "./job-text.js";
import { fields, instant, plain } from "./paint.js";
import type { Session } from "./session.js";

export interface Schedule {
  name: string;
  tenant: string;
  cron: string;
  timeZone: string;
  type: string;
  payload: unknown;
  enabled: boolean;
  missedRunPolicy: string;
  nextRunAt: string | null;
  lastRunAt: string | null;
}

export interface ScheduleDetail extends Schedule {
  nextTimes: string[];
}

export interface TenantOption {
  tenant?: string;
}

/** Where the API has it, or one of its verbs. */
export function pathOf(name: string, verb: string, { tenant }: TenantOption): string {
  const query = tenant === undefined ? "" : `?${new URLSearchParams({ tenant })}`;
  return `/api/schedules/${encodeURIComponent(name)}${verb}${query}`;
}

/** Shows one with its next times. */
export function showDetail({ paint, show }: Session, schedule: ScheduleDetail): void {
  show(schedule, (shown) =>
    fields(paint, [
      ["name", shown.name],
      ["tenant", shown.tenant],
      ["cron", `${plain(shown.cron)} (${shown.timeZone})`],
      ["type", shown.type],
      ["payload", jsonText(shown.payload)],
      ["state", shown.enabled ? paint("green", "runs") : paint("yellow", "paused")],
      ["missed", shown.missedRunPolicy],
      ["last run", instant(shown.lastRunAt)],
      ["next runs", shown.nextTimes.map(instant).join(", ")],
    ]),
  );
}
