/** What `POST /api/schedules` answers. */

import type { Answers } from "../answer.js";
import { scheduleDetailSchema } from "./schedule-view.js";

export const createSchedule: Answers = {
  201: {
    description: "The schedule is stored, with jobs for its first slots.",
    schema: scheduleDetailSchema,
    headers: { Location: "Where the schedule can be read." },
  },
};
