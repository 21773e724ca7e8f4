/** `POST` and `GET /api/sweep`: one sweep, for QStash's schedule, a platform's cron, or curl. */

import { sweep } from "../../engine/sweep.js";
import { defineRoute, type Method, type Route } from "../route.js";

/** Vercel's cron can only GET. */
export const runSweep: Route[] = (["POST", "GET"] satisfies Method[]).map((method) =>
  defineRoute(
    {
      method,
      path: "/api/sweep",
      role: "cron",
      summary: "Do one bounded sweep",
    },
    async ({ ports }) => Response.json(await sweep(ports)),
  ),
);
