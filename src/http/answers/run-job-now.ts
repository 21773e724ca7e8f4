/** What `POST /api/jobs/:id/run-now` answers. */

import type { Answers } from "../answer.js";
import { jobViewSchema } from "./job-view.js";

export const runJobNow: Answers = {
  202: { description: "The job is due now.", schema: jobViewSchema },
};
