/** Reads what charts show: attempts over time, how long they took and waited, and which they were. */

import type { Buckets, RecentActivity } from "../core/activity.js";
import type { Actor } from "../core/operations.js";
import type { Ports } from "../core/ports.js";

/** Roll-ups are by the minute; six hours of them are read in some milliseconds. */
const HISTORY: Buckets = { count: 36, seconds: 600 };
/** What was not rolled up is read attempt by attempt. */
const RECENT: Buckets = { count: 12, seconds: 300 };
const RECENT_ATTEMPTS_MAX = 1000;

export interface Activity extends RecentActivity {
  buckets: Buckets;
  /** True where the counts are those of sweeps, and so end at the latest one. */
  rolledUp: boolean;
}

/**
 * Reads six hours for an admin and one hour for others.
 *
 * Shape: roll-ups tell no tenants apart, so a tenant's own numbers come from the newest attempts.
 *        Attempt numbers always do.
 */
export async function readActivity(ports: Ports, { tenant }: Actor): Promise<Activity> {
  const [recent, history] = await Promise.all([
    ports.store.readRecent(tenant, RECENT, RECENT_ATTEMPTS_MAX),
    tenant === null ? ports.store.readHistory(HISTORY) : null,
  ]);
  if (!history) return { ...recent, buckets: RECENT, rolledUp: false };
  const numbers = recent.facts.filter(({ measure }) => measure === "number");
  return {
    ...recent,
    ...history,
    facts: [...history.facts, ...numbers],
    buckets: HISTORY,
    rolledUp: true,
  };
}
