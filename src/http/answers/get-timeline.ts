/** What `GET /api/jobs/:id/timeline` answers. */

import * as z from "zod/mini";
import type { Answers } from "../answer.js";

const instant = z.iso.datetime();
const by = z.nullable(z.string()).check(z.describe("Name of the key."));
const byOperator = { by, reason: z.nullable(z.string()) };
const error = z
  .nullable(z.object({ code: z.string(), message: z.string() }))
  .check(z.describe("The message may be cut."));

const event = <Kind extends string, Shape extends z.core.$ZodShape>(kind: Kind, more: Shape) =>
  z.object({ at: instant, kind: z.literal(kind), ...more });

const itemSchema = z.discriminatedUnion("kind", [
  event("created", {
    by: z.string().check(z.describe("Name of the key, which is the job's tenant.")),
    idempotencyKey: z.nullable(z.string()),
    schedule: z.nullable(z.string()).check(z.describe("The schedule whose slot the job fills.")),
  }),
  event("published", {
    seq: z.nullable(z.int()),
    why: z
      .nullable(z.string())
      .check(z.describe("Null for the message that an ordinary step sends.")),
    failed: z.boolean(),
    by: z.optional(by),
    reason: z.optional(z.nullable(z.string())),
  }),
  event("claimed", { attempt: z.int() }),
  event("attempt_finished", {
    attempt: z.int(),
    outcome: z.string(),
    error,
    late: z
      .nullable(z.object({ at: instant, outcome: z.string() }))
      .check(z.describe("What it came back with after it had lost its lease; not applied.")),
  }),
  event("effect", {
    attempt: z.nullable(z.int()),
    name: z.string(),
    outcome: z.enum(["running", "done", "not_done", "unknown"]),
    finishedAt: z.nullable(instant),
    settledBy: by,
    trace: z.unknown().check(z.describe("Evidence that the handler kept; any JSON value.")),
  }),
  event("delivery_refused", {
    reason: z.string(),
    messageId: z.nullable(z.string()),
    ranJobId: z.nullable(z.uuid()).check(z.describe("The job that ran in its place.")),
  }),
  event("cancel_requested", byOperator),
  event("cancelled", byOperator),
  event("replayed", {
    ...byOperator,
    was: z.string(),
    error,
    payloadChanged: z.boolean(),
    bulk: z.boolean(),
  }),
  event("settled", { ...byOperator, effect: z.string(), outcome: z.string() }),
]);

export const timelineSchema = z.object({
  jobId: z.uuid(),
  items: z.array(itemSchema).check(z.describe("Oldest first.")),
  truncated: z.boolean().check(z.describe("True when older items were left out.")),
});

export const getTimeline: Answers = {
  200: { description: "The timeline.", schema: timelineSchema },
};
