/** `POST /api/schedules/:name/pause` and `/resume`: holds a recurring job back, or lets it go on. */

import { changeSchedule } from "../../engine/change-schedule.js";
import { notFound } from "../problem.js";
import { defineRoute, type Route } from "../route.js";
import {
  NEXT_TIMES,
  scheduleDeclared,
  scheduleParamsSchema,
  scheduleQuerySchema,
} from "../schedule-request.js";
import { scheduleDetail } from "../schedule-view.js";

const SWITCHES = [
  {
    verb: "pause",
    enabled: false,
    summary: "Pause a schedule",
  },
  {
    verb: "resume",
    enabled: true,
    summary: "Resume a schedule",
  },
] as const;

export const switchSchedule: Route[] = SWITCHES.map(({ verb, enabled, summary }) =>
  defineRoute(
    {
      method: "POST",
      path: `/api/schedules/:name/${verb}`,
      role: "write",
      summary,
      params: scheduleParamsSchema,
      query: scheduleQuerySchema,
      problems: ["not_found"],
    },
    async ({ ports, actor, params, query }) => {
      const ref = { name: params.name, tenant: query.tenant ?? null };
      const change = { kind: "enable", enabled } as const;
      const outcome = await changeSchedule(ports, actor, ref, change, NEXT_TIMES);
      if (outcome.kind === "declared") throw scheduleDeclared();
      if (outcome.kind !== "changed") throw notFound();
      return Response.json(scheduleDetail(outcome.schedule));
    },
  ),
);
