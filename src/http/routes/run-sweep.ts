/** `POST` and `GET /api/sweep`: one sweep, for QStash's schedule, a platform's cron, or curl. */

import * as z from "zod/mini";
import { sweep } from "../../engine/sweep.js";
import { defineRoute, type Method, type Route } from "../route.js";

const count = z.int();
const sweepReportSchema = z.object({
  leasesRecovered: count,
  deadLettered: count,
  cancelled: count,
  slotsPlanned: count,
  slotsMissed: count,
  published: count,
  vanished: count,
  probes: count,
  publishFailures: count,
  refusedTypes: z
    .array(z.string())
    .check(
      z.describe("Types whose messages QStash refuses for good: see `publish_failed` in the log."),
    ),
  ranInSweep: count,
  idempotencyRecordsPurged: count,
  jobsPruned: count,
  attemptsRolledUp: count,
  alertsSent: count,
  alertsFailed: count,
  failedSteps: z.array(z.string()),
  more: z.boolean().check(z.describe("A bound stopped the sweep; another one has work.")),
});

/** Vercel's cron can only GET. */
export const runSweep: Route[] = (["POST", "GET"] satisfies Method[]).map((method) =>
  defineRoute(
    {
      method,
      path: "/api/sweep",
      role: "cron",
      summary: "Do one bounded sweep",
      responses: { 200: { description: "What it did, by step.", schema: sweepReportSchema } },
    },
    async ({ ports }) => Response.json(await sweep(ports)),
  ),
);
