/** `GET /api/schedules`: the recurring jobs. */

import { readSchedules } from "../../engine/read-schedules.js";
import { defineRoute } from "../route.js";
import { scheduleView } from "../schedule-view.js";

export const listSchedules = defineRoute(
  {
    method: "GET",
    path: "/api/schedules",
    role: "write",
    summary: "List the schedules",
  },
  async ({ ports, actor }) => {
    const schedules = await readSchedules(ports, actor, null, 0);
    return Response.json({ items: schedules.map(scheduleView) });
  },
);
