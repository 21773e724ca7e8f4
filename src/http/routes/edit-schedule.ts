/** `PUT /api/schedules/:name`: replaces what recurs, and when. */

import { changeSchedule } from "../../engine/change-schedule.js";
import { notFound } from "../problem.js";
import { defineRoute } from "../route.js";
import {
  NEXT_TIMES,
  scheduleDeclared,
  scheduleEditSchema,
  scheduleParamsSchema,
  scheduleQuerySchema,
  scheduleRefused,
} from "../schedule-request.js";
import { scheduleDetail } from "../schedule-view.js";

export const editSchedule = defineRoute(
  {
    method: "PUT",
    path: "/api/schedules/:name",
    role: "write",
    summary: "Replace a schedule",
    params: scheduleParamsSchema,
    query: scheduleQuerySchema,
    body: { schema: scheduleEditSchema, limit: "job", levelsAround: 1 },
    problems: ["not_found", "unknown_job_type"],
  },
  async ({ ports, actor, params, query, body: { enabled = null, ...recurrence } }) => {
    const ref = { name: params.name, tenant: query.tenant ?? null };
    const change = { kind: "edit", recurrence, enabled } as const;
    const outcome = await changeSchedule(ports, actor, ref, change, NEXT_TIMES);
    switch (outcome.kind) {
      case "changed":
        return Response.json(scheduleDetail(outcome.schedule));
      case "refused":
        throw scheduleRefused(outcome.refusal);
      case "declared":
        throw scheduleDeclared();
      case "not_found":
        throw notFound();
    }
  },
);
