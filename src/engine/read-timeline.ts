/** Tells what happened to a job, for those who may see it. */

import type { Timeline } from "../core/listing.js";
import type { Actor } from "../core/operations.js";
import type { Ports } from "../core/ports.js";

/** A job that snoozes a thousand times has a long life; its newest part is what people look for. */
const ITEMS_MAX = 1000;

/** Reads a job's timeline, oldest first; null for an id that the actor may not see. */
export async function readTimeline(
  ports: Ports,
  actor: Actor,
  jobId: string,
): Promise<Timeline | null> {
  return ports.store.readTimeline(jobId, actor, ITEMS_MAX);
}
