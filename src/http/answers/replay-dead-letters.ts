/** What `POST /api/dead-letters/replay` answers. */

import * as z from "zod/mini";
import type { Answers } from "../answer.js";

export const replayDeadLetters: Answers = {
  200: {
    description: "What was done. Jobs whose dedupe key is taken, or locked now, are skipped.",
    schema: z.object({
      matched: z.int(),
      replayed: z.int(),
      skipped: z.int(),
      dryRun: z.boolean(),
    }),
  },
};
