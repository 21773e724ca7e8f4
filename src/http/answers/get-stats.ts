/** What `GET /api/stats` answers. */

import * as z from "zod/mini";
import type { Answers } from "../answer.js";

const count = z.object({
  count: z.int(),
  capped: z.boolean().check(z.describe("True when there may be more: the count stopped.")),
});

export const statsSchema = z.object({
  at: z.iso.datetime(),
  types: z
    .array(
      z.object({
        type: z.string(),
        paused: z.boolean(),
        queuedDue: count,
        queuedLater: count,
        failed: count.check(z.describe("Waiting for the next try.")),
        processing: count,
        expiredLeases: count.check(z.describe("Processing, but the lease has run out.")),
        deadLetters: count,
        oldestDueSeconds: z.nullable(z.number()),
        attempts: z.object({
          since: z.iso
            .datetime()
            .check(z.describe("An hour ago, or as far back as the count went.")),
          capped: z.boolean(),
          byOutcome: z.record(z.string(), z.int()),
        }),
      }),
    )
    .check(z.describe("The types that have anything to count or are paused, by name.")),
});

export const getStats: Answers = {
  200: {
    description: "Your own jobs in numbers; for an admin everybody's.",
    schema: statsSchema,
  },
};
