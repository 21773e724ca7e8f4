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
  },
  async ({ ports, actor }) =>
    new Response(metricsText(await readMetrics(ports, actor)), {
      headers: { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" },
    }),
);
