/** `POST /api/schedules`: makes a recurring job. */

import { createSchedule as create } from "../../engine/create-schedule.js";
import { Problem } from "../problem.js";
import { defineRoute } from "../route.js";
import { NEXT_TIMES, scheduleRefused, scheduleRequestSchema } from "../schedule-request.js";
import { scheduleDetail } from "../schedule-view.js";

export const createSchedule = defineRoute(
  {
    method: "POST",
    path: "/api/schedules",
    role: "write",
    summary: "Create a schedule",
    body: { schema: scheduleRequestSchema, limit: "job", levelsAround: 1 },
    problems: ["schedule_exists", "unknown_job_type"],
  },
  async ({ ports, actor, body }) => {
    const outcome = await create(ports, actor, body, NEXT_TIMES);
    switch (outcome.kind) {
      case "created": {
        const location = `${ports.settings.publicUrl}/api/schedules/${outcome.schedule.name}`;
        const headers = { Location: location };
        return Response.json(scheduleDetail(outcome.schedule), { status: 201, headers });
      }
      case "refused":
        throw scheduleRefused(outcome.refusal);
      case "exists":
        throw new Problem("schedule_exists", `There is a schedule ${JSON.stringify(body.name)}.`);
    }
  },
);
