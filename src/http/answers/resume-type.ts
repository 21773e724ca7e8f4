/** What `POST /api/types/:type/resume` answers. */

import type { Answers } from "../answer.js";
import { typeViewSchema } from "./type-view.js";

export const resumeType: Answers = {
  200: { description: "The next sweeps publish what waits.", schema: typeViewSchema },
};
