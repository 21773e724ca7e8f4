/** `GET /api/metrics`: the state of the queue for Prometheus. */

import { readMetrics } from "../../engine/read-metrics.js";
import { metricsText } from "../metrics-text.js";
import { defineRoute } from "../route.js";

export const getMetrics = defineRoute(
  {
    method: "GET",
    path: "/api/metrics",
    role: "admin",
    summary: "Read metrics in Prometheus text format",
    responses: {
      200: {
        mediaType: "text/plain",
        description:
          "Text exposition 0.0.4. Counters hold what sweeps have rolled up: they lag behind by one sweep interval and 30 seconds.",
      },
    },
  },
  async ({ ports, actor }) =>
    new Response(metricsText(await readMetrics(ports, actor)), {
      headers: { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" },
    }),
);
