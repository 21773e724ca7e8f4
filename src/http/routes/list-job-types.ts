/** `GET /api/types`: the registered job types. */

import * as z from "zod/mini";
import { listTypes } from "../../engine/inspect.js";
import { defineRoute } from "../route.js";
import { typeView, typeViewSchema } from "../type-view.js";

export const listJobTypes = defineRoute(
  {
    method: "GET",
    path: "/api/types",
    role: "read",
    summary: "List the job types with their settings and state",
    responses: {
      200: {
        description: "The types by name.",
        schema: z.object({ items: z.array(typeViewSchema) }),
      },
    },
  },
  async ({ ports }) => Response.json({ items: (await listTypes(ports)).map(typeView) }),
);
