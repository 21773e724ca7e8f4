/** `POST /api/jobs/:id/effects/:name/settle`: a human says how an effect ended. */

import * as z from "zod/mini";
import { RESULT_BYTES_MAX } from "../../core/job.js";
import { settle } from "../../engine/settle.js";
import { effectParamsSchema, jsonSchema, reasonSchema } from "../job-request.js";
import { notFound, Problem } from "../problem.js";
import { defineRoute } from "../route.js";

const requiredReason = reasonSchema.check(z.refine((text) => text.trim() !== "", "must say why"));
const result = z.optional(jsonSchema).check(
  z.refine(
    (value) => new TextEncoder().encode(JSON.stringify(value ?? null)).length <= RESULT_BYTES_MAX,
    `must have at most ${RESULT_BYTES_MAX} bytes`,
  ),
  z.describe("What later attempts get as the effect's result; default null."),
);

export const settleEffect = defineRoute(
  {
    method: "POST",
    path: "/api/jobs/:id/effects/:name/settle",
    role: "write",
    summary: "Settle an effect whose outcome is unknown",
    params: effectParamsSchema,
    body: {
      schema: z.discriminatedUnion("outcome", [
        z.strictObject({ outcome: z.literal("done"), result, reason: requiredReason }),
        z.strictObject({ outcome: z.literal("not_done"), reason: requiredReason }),
      ]),
      limit: "job",
      levelsAround: 1,
    },
    problems: ["not_found", "effect_not_unknown"],
  },
  async ({ ports, actor, params, body }) => {
    const { outcome, reason } = body;
    const effect = { jobId: params.id, name: params.name };
    const settlement =
      body.outcome === "done"
        ? { outcome: body.outcome, result: body.result ?? null }
        : { outcome: body.outcome };
    const settled = await settle(ports, actor, effect, settlement, reason);
    switch (settled.kind) {
      case "settled":
        return Response.json({ jobId: params.id, effect: params.name, outcome });
      case "not_unknown":
        throw new Problem("effect_not_unknown", "Its outcome is known, or it runs at this moment.");
      case "not_found":
        throw notFound();
    }
  },
);
