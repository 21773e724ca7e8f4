/** The registry as statements need it. */

import { delayTable } from "../core/backoff.js";
import { MAX_ATTEMPTS_BOUNDS } from "../core/job.js";
import type { Ports } from "../core/ports.js";
import type { SweepType } from "../core/sweep.js";

/** What statements must know of each registered type. */
export function sweepTypes(ports: Ports): SweepType[] {
  return [...ports.registry.values()].map((definition) => ({
    type: definition.type,
    publish: definition.runsOn === "qstash",
    leaseSeconds: definition.leaseSeconds,
    delays: delayTable(definition.backoff, MAX_ATTEMPTS_BOUNDS.max),
    jitterSeconds: definition.backoff.jitterSeconds,
  }));
}
