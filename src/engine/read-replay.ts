/** Tells how far a bulk replay is. */

import type { ReplayProgress } from "../core/activity.js";
import type { Actor } from "../core/operations.js";
import type { Ports } from "../core/ports.js";

/** Counts by status the jobs that a replay took and that the actor may see. */
export async function readReplay(
  ports: Ports,
  { tenant }: Actor,
  actionId: string,
): Promise<ReplayProgress> {
  return ports.store.readReplay(actionId, tenant);
}
