/** `POST /api/jobs/:id/cancel`: cancels a waiting job, or asks a processing one to stop. */

import { cancel } from "../../engine/cancel.js";
import { jobParamsSchema, reasonBodySchema } from "../job-request.js";
import { jobView } from "../job-view.js";
import { notFound, Problem } from "../problem.js";
import { defineRoute } from "../route.js";

export const cancelJob = defineRoute(
  {
    method: "POST",
    path: "/api/jobs/:id/cancel",
    role: "write",
    summary: "Cancel a job",
    params: jobParamsSchema,
    body: { schema: reasonBodySchema, optional: true, limit: "job", levelsAround: 0 },
    problems: ["not_found", "job_not_cancellable"],
  },
  async ({ ports, actor, params, body }) => {
    const outcome = await cancel(ports, actor, params.id, body.reason ?? null);
    switch (outcome.kind) {
      case "cancelled":
        return Response.json(jobView(outcome.job));
      case "requested":
        return Response.json(jobView(outcome.job), { status: 202 });
      case "not_cancellable":
        throw new Problem("job_not_cancellable", `The job is ${outcome.job.status}.`);
      case "not_found":
        throw notFound();
    }
  },
);
