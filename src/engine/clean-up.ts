/** Deletes what is past its time, by one rule and statement by statement. */

import type { Ports } from "../core/ports.js";

/** A fraction of a second, also where each row takes its attempts, effects and events with it. */
const ROWS_PER_STATEMENT = 1000;

type Remove = (ports: Ports, limit: number) => Promise<number>;

const RULES = {
  idempotency_records: ({ store }, limit) => store.purgeIdempotencyRecords(limit),
  retention({ store, settings }, limit) {
    const { retentionDays: finishedDays, deadLetterRetentionDays: deadLetterDays } = settings;
    return store.pruneJobs({ finishedDays, deadLetterDays }, limit);
  },
  counters: ({ store }, limit) => store.pruneMonitoring(limit),
} as const satisfies Record<string, Remove>;

export type CleanUpRule = keyof typeof RULES;

/**
 * Deletes while there is more and room for another call; gives how many rows went.
 *
 * Shape: sweeps may be a day apart, so one statement a sweep would not keep up with a day's jobs.
 */
export async function cleanUp(
  ports: Ports,
  rule: CleanUpRule,
  hasRoom: () => boolean,
): Promise<number> {
  let removed = 0;
  for (;;) {
    const count = await RULES[rule](ports, ROWS_PER_STATEMENT);
    removed += count;
    if (count < ROWS_PER_STATEMENT || !hasRoom()) return removed;
  }
}
