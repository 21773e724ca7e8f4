/** What `PUT /api/schedules/:name` answers. */

import type { Answers } from "../answer.js";
import { scheduleDetailSchema } from "./schedule-view.js";

export const editSchedule: Answers = {
  200: {
    description: "The schedule from now on; its jobs that had not started are cancelled.",
    schema: scheduleDetailSchema,
  },
};
