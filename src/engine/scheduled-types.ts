/** What the store must know of each registered type to make the jobs of its schedules. */

import type { Ports } from "../core/ports.js";
import type { ScheduledType } from "../core/schedule.js";

/** Lists the registered types. */
export function scheduledTypes({ registry }: Pick<Ports, "registry">): ScheduledType[] {
  return [...registry.values()].map(({ type, maxAttempts, runsOn }) => ({
    type,
    maxAttempts,
    publish: runsOn === "qstash",
  }));
}
