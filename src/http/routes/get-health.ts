/** `GET /api/health`: the application answers; nothing else is asked. */

import * as z from "zod/mini";
import { defineRoute } from "../route.js";

export const getHealth = defineRoute(
  {
    method: "GET",
    path: "/api/health",
    role: "none",
    summary: "Tell whether the application answers",
    responses: {
      200: { description: "It does.", schema: z.object({ status: z.literal("ok") }) },
    },
  },
  () => Response.json({ status: "ok" }),
);
