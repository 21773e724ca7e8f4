/** The wake-up message: what travels through QStash. Small, without personal data, never stale. */

import * as z from "zod/mini";
import { JOB_TYPE_PATTERN } from "./job.js";

/** The column is an `integer`, and a hop needs one more. */
const SEQ_MAX = 2_147_483_646;

/**
 * The body of a message; a delivery that does not fit it can never succeed.
 *
 * Shape: unknown members are let through, since a newer deployment may have published it.
 */
export const messageSchema = z.object({
  v: z.literal(1),
  jobId: z.uuid(),
  type: z.string().check(z.regex(JOB_TYPE_PATTERN)),
  seq: z.int().check(z.minimum(0), z.maximum(SEQ_MAX)),
});
export type Message = z.infer<typeof messageSchema>;
