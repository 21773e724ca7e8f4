/** `GET /api/schedules`: the recurring jobs. */

import * as z from "zod/mini";
import { readSchedules } from "../../engine/read-schedules.js";
import { defineRoute } from "../route.js";
import { scheduleView, scheduleViewSchema } from "../schedule-view.js";

export const listSchedules = defineRoute(
  {
    method: "GET",
    path: "/api/schedules",
    role: "write",
    summary: "List the schedules",
    responses: {
      200: {
        description: "The schedules by name.",
        schema: z.object({ items: z.array(scheduleViewSchema) }),
      },
    },
  },
  async ({ ports, actor }) => {
    const schedules = await readSchedules(ports, actor, null, 0);
    return Response.json({ items: schedules.map(scheduleView) });
  },
);
