/** `GET /api/stats`: tells what waits, runs and went wrong, by job type. */

import type * as z from "zod/mini";
import { readStats } from "../../engine/read-stats.js";
import type { statsSchema } from "../answers/get-stats.js";
import { defineRoute } from "../route.js";

export const getStats = defineRoute(
  {
    method: "GET",
    path: "/api/stats",
    role: "read",
    summary: "Count waiting, running and dead jobs and the last hour's attempts",
  },
  async ({ ports, actor }) =>
    Response.json((await readStats(ports, actor)) satisfies z.input<typeof statsSchema>),
);
