/** What `POST /api/types/:type/pause` answers. */

import type { Answers } from "../answer.js";
import { typeViewSchema } from "./type-view.js";

export const pauseType: Answers = {
  200: { description: "Nothing of it starts any more.", schema: typeViewSchema },
};
