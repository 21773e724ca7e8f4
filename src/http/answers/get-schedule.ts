/** What `GET /api/schedules/:name` answers. */

import type { Answers } from "../answer.js";
import { scheduleDetailSchema } from "./schedule-view.js";

export const getSchedule: Answers = {
  200: { description: "The schedule.", schema: scheduleDetailSchema },
};
