/** Changes of recurring jobs. */

import { SCHEDULE_NAME_PATTERN } from "../../core/schedule.js";
import { changeSchedule } from "../../engine/change-schedule.js";
import { runSchedule } from "../../engine/run-schedule.js";
import { withNotice } from "../notices.js";
import type { Action, ActionForm, Visit } from "../visit.js";

function scheduleOf({ params }: Visit, { fields }: ActionForm) {
  const name = params.name ?? "";
  return SCHEDULE_NAME_PATTERN.test(name) ? { name, tenant: fields.get("tenant") || null } : null;
}

const scheduleSwitch = (verb: "pause" | "resume"): Action => ({
  path: `/schedules/:name/${verb}`,
  role: "write",
  async act(visit, form) {
    const ref = scheduleOf(visit, form);
    if (!ref) return undefined;
    const change = { kind: "enable", enabled: verb === "resume" } as const;
    const { kind } = await changeSchedule(visit.ports, visit.actor, ref, change, 1, form.actionId);
    if (kind === "declared") return withNotice("/schedules", kind);
    if (kind !== "changed") return undefined;
    return withNotice("/schedules", verb === "pause" ? "paused" : "resumed");
  },
});

const runScheduleNow: Action = {
  path: "/schedules/:name/run",
  role: "write",
  async act(visit, form) {
    const ref = scheduleOf(visit, form);
    if (!ref) return undefined;
    const outcome = await runSchedule(visit.ports, visit.actor, ref, form.actionId);
    if (outcome.kind === "not_found") return undefined;
    if (outcome.kind === "unknown_job_type") return withNotice("/schedules", outcome.kind);
    return withNotice(`/jobs/${outcome.job.id}`, "schedule_ran");
  },
};

export const SCHEDULE_ACTIONS: readonly Action[] = [
  scheduleSwitch("pause"),
  scheduleSwitch("resume"),
  runScheduleNow,
];
