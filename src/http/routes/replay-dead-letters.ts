/** `POST /api/dead-letters/replay`: starts many dead letters anew. */

import * as z from "zod/mini";
import {
  ERROR_CODE_LENGTH_MAX,
  REPLAY_LIMIT,
  REPLAY_SPREAD_SECONDS_MAX,
} from "../../core/operations.js";
import { replayMany } from "../../engine/replay.js";
import { instantSchema } from "../instant.js";
import { jobTypeSchema, reasonSchema } from "../job-request.js";
import { defineRoute } from "../route.js";

export const replayDeadLetters = defineRoute(
  {
    method: "POST",
    path: "/api/dead-letters/replay",
    role: "write",
    summary: "Replay the dead letters that a filter matches, oldest first",
    body: {
      schema: z.strictObject({
        type: z.optional(jobTypeSchema),
        errorCode: z.optional(z.string().check(z.minLength(1), z.maxLength(ERROR_CODE_LENGTH_MAX))),
        createdAfter: z.optional(instantSchema),
        createdBefore: z.optional(instantSchema),
        limit: z._default(
          z.int().check(z.minimum(1), z.maximum(REPLAY_LIMIT.max)),
          REPLAY_LIMIT.default,
        ),
        spreadSeconds: z
          ._default(z.number().check(z.minimum(0), z.maximum(REPLAY_SPREAD_SECONDS_MAX)), 0)
          .check(z.describe("The jobs become due evenly over this time.")),
        dryRun: z._default(z.boolean(), false).check(z.describe("Only counts.")),
        reason: z.optional(reasonSchema),
      }),
      limit: "job",
      levelsAround: 0,
    },
  },
  async ({ ports, actor, body: { reason = null, dryRun, ...filter } }) =>
    Response.json(await replayMany(ports, actor, filter, { reason, dryRun })),
);
