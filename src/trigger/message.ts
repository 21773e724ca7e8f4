/** The wake-up message: what travels through QStash. Small, without personal data, never stale. */

import * as z from "zod";
import { JOB_TYPE_PATTERN } from "../core/job.js";

/** The body of a message; a delivery that does not fit it can never succeed. */
export const messageSchema = z.object({
  v: z.literal(1),
  jobId: z.uuid(),
  type: z.string().regex(JOB_TYPE_PATTERN),
  seq: z.int().min(0).max(2_147_483_647),
});
export type Message = z.infer<typeof messageSchema>;
