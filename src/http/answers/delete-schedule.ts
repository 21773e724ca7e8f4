/** What `DELETE /api/schedules/:name` answers. */

import type { Answers } from "../answer.js";

export const deleteSchedule: Answers = {
  204: { description: "It is gone, and its jobs that had not started are cancelled." },
};
