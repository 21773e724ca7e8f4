/** What `GET /api/metrics` answers. */

import type { Answers } from "../answer.js";

export const getMetrics: Answers = {
  200: {
    mediaType: "text/plain",
    description:
      "Text exposition 0.0.4. Counters hold what sweeps have rolled up: they lag behind by one sweep interval and 30 seconds.",
  },
};
