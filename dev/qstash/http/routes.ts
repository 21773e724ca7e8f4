import { dlqRoutes } from "./dlq-routes.js";
import { eventRoutes } from "./event-routes.js";
import { flowControlRoutes } from "./flow-control-routes.js";
import { keyRoutes } from "./key-routes.js";
import { messageRoutes } from "./message-routes.js";
import { publishRoutes } from "./publish-routes.js";
import { queueRoutes } from "./queue-routes.js";
import type { Route } from "./router.js";
import { scheduleRoutes } from "./schedule-routes.js";
import { urlGroupRoutes } from "./url-group-routes.js";

/** Everything the stand-in answers below /v2; the first route that fits is taken. */
export const routes: readonly Route[] = [
  ...publishRoutes,
  ...messageRoutes,
  ...eventRoutes,
  ...dlqRoutes,
  ...scheduleRoutes,
  ...queueRoutes,
  ...urlGroupRoutes,
  ...flowControlRoutes,
  ...keyRoutes,
];
