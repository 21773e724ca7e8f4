/** `POST /api/jobs/:id/run-now`: makes a job due that waits for a later time. */

import { runNow } from "../../engine/run-now.js";
import { jobParamsSchema, reasonBodySchema } from "../job-request.js";
import { jobView } from "../job-view.js";
import { notFound, Problem } from "../problem.js";
import { defineRoute } from "../route.js";

export const runJobNow = defineRoute(
  {
    method: "POST",
    path: "/api/jobs/:id/run-now",
    role: "write",
    summary: "Run a waiting job now",
    params: jobParamsSchema,
    body: { schema: reasonBodySchema, optional: true, limit: "job", levelsAround: 0 },
    problems: ["not_found", "job_not_waiting"],
  },
  async ({ ports, actor, params, body }) => {
    const outcome = await runNow(ports, actor, params.id, body.reason ?? null);
    switch (outcome.kind) {
      case "moved":
        return Response.json(jobView(outcome.job), { status: 202 });
      case "not_waiting":
        throw new Problem("job_not_waiting", `The job is ${outcome.job.status}, or already due.`);
      case "not_found":
        throw notFound();
    }
  },
);
