/** `POST /api/types/:type/resume`: lets a paused job type go on. */

import { setPaused } from "../../engine/pause.js";
import { reasonBodySchema, typeParamsSchema } from "../job-request.js";
import { notFound } from "../problem.js";
import { defineRoute } from "../route.js";
import { typeView } from "../type-view.js";

export const resumeType = defineRoute(
  {
    method: "POST",
    path: "/api/types/:type/resume",
    role: "admin",
    summary: "Resume a paused job type",
    params: typeParamsSchema,
    body: { schema: reasonBodySchema, optional: true, limit: "job", levelsAround: 0 },
    problems: ["not_found"],
  },
  async ({ app, ports, actor, params, body }) => {
    const definition = app.registry.get(params.type);
    if (!definition) throw notFound();
    const state = await setPaused(ports, actor, params.type, false, body.reason ?? null);
    return Response.json(typeView({ definition, state }));
  },
);
