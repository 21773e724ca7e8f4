/** `POST /api/jobs/:id/replay`: starts an ended job anew, under the same id. */

import * as z from "zod/mini";
import { replay } from "../../engine/replay.js";
import { jobParamsSchema, jsonSchema, reasonBodySchema } from "../job-request.js";
import { jobView } from "../job-view.js";
import { notFound, Problem } from "../problem.js";
import { defineRoute } from "../route.js";
import { refusedBy } from "../validation.js";

export const replayJob = defineRoute(
  {
    method: "POST",
    path: "/api/jobs/:id/replay",
    role: "write",
    summary: "Replay a dead letter or a cancelled job",
    params: jobParamsSchema,
    body: {
      schema: z.extend(reasonBodySchema, {
        payload: z
          .optional(jsonSchema)
          .check(z.describe("Replaces the payload; default: as it was.")),
      }),
      optional: true,
      limit: "job",
      levelsAround: 1,
    },
    problems: ["not_found", "job_not_replayable", "dedupe_conflict", "validation_failed"],
  },
  async ({ ports, actor, params, body: { reason = null, payload } }) => {
    const outcome = await replay(ports, actor, params.id, { reason, payload });
    switch (outcome.kind) {
      case "replayed":
        return Response.json(jobView(outcome.job), { status: 202 });
      case "not_replayable":
        throw new Problem("job_not_replayable", `The job is ${outcome.job.status}.`);
      case "dedupe_conflict":
        throw new Problem(
          "dedupe_conflict",
          `The active job ${outcome.activeJobId} holds the dedupe key.`,
          { members: { activeJobId: outcome.activeJobId } },
        );
      case "refused":
        throw refusedBy("validation_failed", outcome.issues);
      case "not_found":
        throw notFound();
    }
  },
);
