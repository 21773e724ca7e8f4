/** `GET /api/schedules/:name`: one recurring job, with the times that come next. */

import { readSchedules } from "../../engine/read-schedules.js";
import { notFound } from "../problem.js";
import { defineRoute } from "../route.js";
import { NEXT_TIMES, scheduleParamsSchema, scheduleQuerySchema } from "../schedule-request.js";
import { scheduleDetail } from "../schedule-view.js";

export const getSchedule = defineRoute(
  {
    method: "GET",
    path: "/api/schedules/:name",
    role: "write",
    summary: "Read a schedule",
    params: scheduleParamsSchema,
    query: scheduleQuerySchema,
    problems: ["not_found"],
  },
  async ({ ports, actor, params, query }) => {
    const ref = { name: params.name, tenant: query.tenant ?? null };
    const [schedule] = await readSchedules(ports, actor, ref, NEXT_TIMES);
    if (!schedule) throw notFound();
    return Response.json(scheduleDetail(schedule));
  },
);
