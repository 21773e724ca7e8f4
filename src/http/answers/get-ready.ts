/** What `GET /api/ready` answers. */

import * as z from "zod/mini";
import type { Answers } from "../answer.js";

export const checkSchema = z.object({ ok: z.boolean(), detail: z.string() });

export const getReady: Answers = {
  200: {
    description: "Every check passed.",
    schema: z.object({ ready: z.literal(true), checks: z.record(z.string(), checkSchema) }),
  },
};
