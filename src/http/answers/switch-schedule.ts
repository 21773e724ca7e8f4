/** What `POST /api/schedules/:name/pause` and `/resume` answer. */

import type { Answers } from "../answer.js";
import { scheduleDetailSchema } from "./schedule-view.js";

export const pauseSchedule: Answers = {
  200: {
    description: "It makes no jobs; those that had not started are cancelled.",
    schema: scheduleDetailSchema,
  },
};

export const resumeSchedule: Answers = {
  200: {
    description: "It goes on with its next slot; slots of the pause are no missed ones.",
    schema: scheduleDetailSchema,
  },
};
