/** What `POST /api/jobs/:id/cancel` answers. */

import type { Answers } from "../answer.js";
import { jobViewSchema } from "./job-view.js";

export const cancelJob: Answers = {
  200: { description: "The job is cancelled.", schema: jobViewSchema },
  202: { description: "The running attempt is asked to stop.", schema: jobViewSchema },
};
