/** What `GET /api/schedules` answers. */

import * as z from "zod/mini";
import type { Answers } from "../answer.js";
import { scheduleViewSchema } from "./schedule-view.js";

export const listSchedules: Answers = {
  200: {
    description: "The schedules by name.",
    schema: z.object({ items: z.array(scheduleViewSchema) }),
  },
};
