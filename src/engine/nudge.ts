/** Publishes jobs that were committed without being published. */

import type { Ports } from "../core/ports.js";
import { publishAfterCommit } from "./publish.js";
import { unpublishedTypes } from "./replay.js";

/** Bounds one call; the sweep publishes whatever is beyond it. */
const NUDGED_MAX = 500;

/** Publishes those of the named jobs that still wait and are not published; repeating it is safe. */
export async function nudge(ports: Ports, jobIds: string[]): Promise<void> {
  if (jobIds.length === 0) return;
  const wakeups = await ports.store.takeNudged(jobIds, {
    takeId: ports.entropy.newId(),
    unpublishedTypes: unpublishedTypes(ports),
    limit: NUDGED_MAX,
  });
  await publishAfterCommit(ports, wakeups);
}
