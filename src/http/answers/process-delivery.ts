/** What `POST /api/process` answers. */

import * as z from "zod/mini";
import type { Answers } from "../answer.js";

export const processDelivery: Answers = {
  200: {
    description: "A job ran and its outcome is recorded, or there was nothing to run.",
    schema: z.object({
      outcome: z.string(),
      reason: z.optional(z.string()).check(z.describe("Why nothing ran, for the outcome noop.")),
      jobId: z.optional(z.uuid()).check(z.describe("The job that the delivery was for.")),
      ranJobId: z.optional(z.uuid()).check(z.describe("The job that it ran.")),
    }),
  },
};
