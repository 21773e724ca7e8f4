/** What `GET /api/jobs/:id` answers. */

import type { Answers } from "../answer.js";
import { jobViewSchema } from "./job-view.js";

export const getJob: Answers = {
  200: { description: "The job.", schema: jobViewSchema },
};
