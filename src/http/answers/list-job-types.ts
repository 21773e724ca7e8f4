/** What `GET /api/types` answers. */

import * as z from "zod/mini";
import type { Answers } from "../answer.js";
import { typeViewSchema } from "./type-view.js";

export const listJobTypes: Answers = {
  200: {
    description: "The types by name.",
    schema: z.object({ items: z.array(typeViewSchema) }),
  },
};
