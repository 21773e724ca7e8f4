/** What `GET /api/health` answers. */

import * as z from "zod/mini";
import type { Answers } from "../answer.js";

export const getHealth: Answers = {
  200: { description: "It does.", schema: z.object({ status: z.literal("ok") }) },
};
