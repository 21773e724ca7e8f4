/** `DELETE /api/schedules/:name`: ends a recurring job. */

import { changeSchedule } from "../../engine/change-schedule.js";
import { notFound } from "../problem.js";
import { defineRoute } from "../route.js";
import {
  scheduleDeclared,
  scheduleParamsSchema,
  scheduleQuerySchema,
} from "../schedule-request.js";

export const deleteSchedule = defineRoute(
  {
    method: "DELETE",
    path: "/api/schedules/:name",
    role: "write",
    summary: "Delete a schedule",
    params: scheduleParamsSchema,
    query: scheduleQuerySchema,
    problems: ["not_found"],
  },
  async ({ ports, actor, params, query }) => {
    const ref = { name: params.name, tenant: query.tenant ?? null };
    const outcome = await changeSchedule(ports, actor, ref, { kind: "delete" }, 0);
    if (outcome.kind === "declared") throw scheduleDeclared();
    if (outcome.kind !== "changed") throw notFound();
    return new Response(null, { status: 204 });
  },
);
