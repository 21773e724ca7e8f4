/** `GET /api/types`: the registered job types. */

import { listTypes } from "../../engine/inspect.js";
import { defineRoute } from "../route.js";
import { typeView } from "../type-view.js";

export const listJobTypes = defineRoute(
  {
    method: "GET",
    path: "/api/types",
    role: "read",
    summary: "List the job types with their settings and state",
  },
  async ({ ports }) => Response.json({ items: (await listTypes(ports)).map(typeView) }),
);
