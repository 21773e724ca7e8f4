/** A job's timeline as clients see it. */

import * as z from "zod";

const instant = z.iso.datetime();
const by = z.string().nullable().describe("Name of the key.");
const byOperator = { by, reason: z.string().nullable() };
const error = z
  .object({ code: z.string(), message: z.string() })
  .nullable()
  .describe("The message may be cut.");

const event = <Kind extends string, Shape extends z.ZodRawShape>(kind: Kind, more: Shape) =>
  z.object({ at: instant, kind: z.literal(kind), ...more });

const itemSchema = z.discriminatedUnion("kind", [
  event("created", {
    by: z.string().describe("Name of the key, which is the job's tenant."),
    idempotencyKey: z.string().nullable(),
    schedule: z.string().nullable().describe("The schedule whose slot the job fills."),
  }),
  event("published", {
    seq: z.int().nullable(),
    why: z.string().nullable().describe("Null for the message that an ordinary step sends."),
    failed: z.boolean(),
    by: by.optional(),
    reason: z.string().nullable().optional(),
  }),
  event("claimed", { attempt: z.int() }),
  event("attempt_finished", {
    attempt: z.int(),
    outcome: z.string(),
    error,
    late: z
      .object({ at: instant, outcome: z.string() })
      .nullable()
      .describe("What it came back with after it had lost its lease; not applied."),
  }),
  event("effect", {
    attempt: z.int().nullable(),
    name: z.string(),
    outcome: z.enum(["running", "done", "not_done", "unknown"]),
    finishedAt: instant.nullable(),
    settledBy: by,
    trace: z.unknown().describe("Evidence that the handler kept; any JSON value."),
  }),
  event("delivery_refused", {
    reason: z.string(),
    messageId: z.string().nullable(),
    ranJobId: z.uuid().nullable().describe("The job that ran in its place."),
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
  items: z.array(itemSchema).describe("Oldest first."),
  truncated: z.boolean().describe("True when older items were left out."),
});
