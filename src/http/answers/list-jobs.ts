/** What `GET /api/jobs` answers. */

import * as z from "zod/mini";
import type { Answers } from "../answer.js";
import { jobSummarySchema } from "./job-summary.js";

export const listJobs: Answers = {
  200: {
    description:
      "One page. It may hold fewer jobs than asked for, even none, and still not be the last: follow nextCursor until it is null.",
    schema: z.object({ items: z.array(jobSummarySchema), nextCursor: z.nullable(z.string()) }),
  },
};
