/** `POST /api/schedules/:name/run`: one job of it now. */

import { runSchedule as run } from "../../engine/run-schedule.js";
import { notFound } from "../problem.js";
import { defineRoute } from "../route.js";
import { scheduleParamsSchema, scheduleQuerySchema, scheduleRefused } from "../schedule-request.js";

export const runSchedule = defineRoute(
  {
    method: "POST",
    path: "/api/schedules/:name/run",
    role: "write",
    summary: "Run a schedule now",
    params: scheduleParamsSchema,
    query: scheduleQuerySchema,
    problems: ["not_found", "unknown_job_type"],
  },
  async ({ ports, actor, params, query }) => {
    const ref = { name: params.name, tenant: query.tenant ?? null };
    const outcome = await run(ports, actor, ref);
    switch (outcome.kind) {
      case "created": {
        const { id: jobId, status } = outcome.job;
        const statusUrl = `${ports.settings.publicUrl}/api/jobs/${jobId}`;
        const accepted = { jobId, status, deduplicated: false, statusUrl };
        return Response.json(accepted, { status: 202, headers: { Location: statusUrl } });
      }
      case "unknown_job_type": {
        const message = `no job type "${outcome.type}" here`;
        throw scheduleRefused({ code: outcome.kind, issues: [{ path: [], message }] });
      }
      case "not_found":
        throw notFound();
    }
  },
);
