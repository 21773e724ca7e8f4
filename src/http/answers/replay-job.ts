/** What `POST /api/jobs/:id/replay` answers. */

import type { Answers } from "../answer.js";
import { jobViewSchema } from "./job-view.js";

export const replayJob: Answers = {
  202: { description: "The job is queued again.", schema: jobViewSchema },
};
