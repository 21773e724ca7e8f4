/** What `GET /api/openapi.json` answers. */

import type { Answers } from "../answer.js";

export const getOpenapi: Answers = {
  200: { description: "OpenAPI 3.1.", mediaType: "application/json" },
};
