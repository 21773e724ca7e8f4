/** What `POST /api/schedules/:name/run` answers. */

import type { Answers } from "../answer.js";
import { acceptedJobSchema } from "./accepted.js";

export const runSchedule: Answers = {
  202: {
    description: "One more job is stored and will run, also while the schedule is paused.",
    schema: acceptedJobSchema,
    headers: { Location: "Where the job can be read: statusUrl." },
  },
};
