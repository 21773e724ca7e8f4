/** `GET /api/health`: the application answers; nothing else is asked. */

import { defineRoute } from "../route.js";

export const getHealth = defineRoute(
  {
    method: "GET",
    path: "/api/health",
    role: "none",
    summary: "Tell whether the application answers",
  },
  () => Response.json({ status: "ok" }),
);
