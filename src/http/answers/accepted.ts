/** The schema of an accepted job, and what answers to create requests have in common. */

import * as z from "zod/mini";
import { JOB_STATUSES } from "../../core/job.js";

/** What a create answers for each job. */
export const acceptedJobSchema = z.object({
  jobId: z.uuid(),
  status: z.enum(JOB_STATUSES),
  deduplicated: z
    .boolean()
    .check(z.describe("True when an active job already had the dedupe key.")),
  statusUrl: z.url(),
});

export const ACCEPTED_HEADERS = {
  "Idempotent-Replayed": "true when the stored answer of an earlier request is given again.",
} as const;
