/** What `POST` and `GET /api/sweep` answer. */

import * as z from "zod/mini";
import type { Answers } from "../answer.js";

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

export const runSweep: Answers = {
  200: { description: "What it did, by step.", schema: sweepReportSchema },
};
