/** `POST /api/dead-letters/replay`: starts many dead letters anew. */

import * as z from "zod";
import { replayMany } from "../../engine/replay.js";
import { instantSchema } from "../instant.js";
import { jobTypeSchema, reasonSchema } from "../job-request.js";
import { defineRoute } from "../route.js";

const LIMIT = { default: 500, max: 5000 } as const;
const SPREAD_SECONDS_MAX = 86_400;

export const replayDeadLetters = defineRoute(
  {
    method: "POST",
    path: "/api/dead-letters/replay",
    role: "write",
    summary: "Replay the dead letters that a filter matches, oldest first",
    body: {
      schema: z.strictObject({
        type: jobTypeSchema.optional(),
        errorCode: z.string().min(1).max(64).optional(),
        createdAfter: instantSchema.optional(),
        createdBefore: instantSchema.optional(),
        limit: z.int().min(1).max(LIMIT.max).default(LIMIT.default),
        spreadSeconds: z
          .number()
          .min(0)
          .max(SPREAD_SECONDS_MAX)
          .default(0)
          .describe("The jobs become due evenly over this time."),
        dryRun: z.boolean().default(false).describe("Only counts."),
        reason: reasonSchema.optional(),
      }),
      limit: "job",
      levelsAround: 0,
    },
    responses: {
      200: {
        description: "What was done. Jobs whose dedupe key is taken, or locked now, are skipped.",
        schema: z.object({
          matched: z.int(),
          replayed: z.int(),
          skipped: z.int(),
          dryRun: z.boolean(),
        }),
      },
    },
  },
  async ({ ports, actor, body: { reason = null, dryRun, ...filter } }) =>
    Response.json(await replayMany(ports, actor, filter, { reason, dryRun })),
);
