/** `GET /api/jobs`: lists jobs, newest first. */

import * as z from "zod/mini";
import { decodeCursor, encodeCursor, listName } from "../../core/cursor.js";
import { DEDUPE_KEY_LENGTH_MAX, JOB_STATUSES } from "../../core/job.js";
import { listJobs as readPage } from "../../engine/list-jobs.js";
import { instantSchema } from "../instant.js";
import { jobTypeSchema } from "../job-request.js";
import { jobSummaryView } from "../job-summary.js";
import { Problem } from "../problem.js";
import { defineRoute } from "../route.js";

const LIMIT = { default: 50, max: 200 } as const;
/** Each type is a range of its own to read. */
const TYPES_MAX = 20;

const limitSchema = z
  .string()
  .check(z.regex(/^(?:[1-9]\d?|1\d\d|200)$/, `must be a whole number from 1 to ${LIMIT.max}`));

/** A parameter that may come several times; in which order does not matter. */
const repeatable = <Item extends z.ZodMiniType<string, string>>(item: Item, max: number) =>
  z.pipe(
    z.transform((given) => (typeof given === "string" ? [given] : given)),
    z._default(
      z.pipe(
        z.array(item).check(z.maxLength(max)),
        z.transform((values) => [...new Set(values)].sort()),
      ),
      [],
    ),
  );

export const listJobs = defineRoute(
  {
    method: "GET",
    path: "/api/jobs",
    role: "read",
    summary: "List jobs, newest first",
    query: z.object({
      status: repeatable(z.enum(JOB_STATUSES), JOB_STATUSES.length),
      type: repeatable(jobTypeSchema, TYPES_MAX),
      dedupeKey: z.optional(
        z.string().check(
          z.minLength(1),
          z.maxLength(DEDUPE_KEY_LENGTH_MAX),
          z.refine((key) => !key.includes("\0"), "must not contain U+0000"),
        ),
      ),
      createdAfter: z.optional(instantSchema).check(z.describe("Jobs created then or later.")),
      createdBefore: z.optional(instantSchema).check(z.describe("Jobs created earlier.")),
      limit: z._default(z.pipe(limitSchema, z.transform(Number)), LIMIT.default),
      cursor: z.optional(z.string()).check(z.describe("The nextCursor of the page before.")),
    }),
    problems: ["invalid_cursor"],
  },
  async ({ ports, actor, query }) => {
    const filter = {
      statuses: query.status,
      types: query.type,
      dedupeKey: query.dedupeKey ?? null,
      createdAfter: query.createdAfter ?? null,
      createdBefore: query.createdBefore ?? null,
    };
    const list = await listName(filter, actor);
    const after = query.cursor === undefined ? null : decodeCursor(query.cursor, list);
    if (after === undefined) {
      throw new Problem("invalid_cursor", "Send the nextCursor of a page with the same filters.");
    }
    const { items, next } = await readPage(ports, actor, filter, { limit: query.limit, after });
    return Response.json({
      items: items.map(jobSummaryView),
      nextCursor: next && encodeCursor(next, list),
    });
  },
);
