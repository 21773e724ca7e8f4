/** `GET /api/jobs/:id/timeline`: tells what happened to a job. */

import type * as z from "zod/mini";
import { readTimeline } from "../../engine/read-timeline.js";
import type { timelineSchema } from "../answers/get-timeline.js";
import { jobParamsSchema } from "../job-request.js";
import { notFound } from "../problem.js";
import { defineRoute } from "../route.js";

export const getTimeline = defineRoute(
  {
    method: "GET",
    path: "/api/jobs/:id/timeline",
    role: "read",
    summary: "Read what happened to a job",
    params: jobParamsSchema,
    problems: ["not_found"],
  },
  async ({ ports, actor, params }) => {
    const timeline = await readTimeline(ports, actor, params.id);
    if (!timeline) throw notFound();
    return Response.json(timeline satisfies z.input<typeof timelineSchema>);
  },
);
