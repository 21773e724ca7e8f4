/** What `POST /api/jobs/:id/effects/:name/settle` answers. */

import * as z from "zod/mini";
import type { Answers } from "../answer.js";

export const settleEffect: Answers = {
  200: {
    description: "The outcome is recorded; a replayed job goes by it.",
    schema: z.object({
      jobId: z.uuid(),
      effect: z.string(),
      outcome: z.enum(["done", "not_done"]),
    }),
  },
};
