/** Counts what ended since the last roll-up, batch by batch. */

import type { Ports } from "../core/ports.js";

/** One batch is a fraction of a second, and a sweep's spare calls are enough for most of a day. */
const ATTEMPTS_PER_STATEMENT = 2000;

/** Rolls up while there is more and room for another call; gives how many attempts were counted. */
export async function rollUp(ports: Ports, hasRoom: () => boolean): Promise<number> {
  let attempts = 0;
  for (;;) {
    const batch = await ports.store.rollUpStats(ATTEMPTS_PER_STATEMENT);
    attempts += batch.attempts;
    if (!batch.more || !hasRoom()) return attempts;
  }
}
