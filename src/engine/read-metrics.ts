/** Reads what a scrape tells: counts of the present, and counters since the beginning. */

import type { Metrics } from "../core/monitoring.js";
import type { Actor } from "../core/operations.js";
import type { Ports } from "../core/ports.js";

/** How far a gauge counts, of each type and priority: a backlog beyond it is trouble of any size. */
const GAUGE_MAX = 10_000;

/** Reads a bounded number of rows, however long the history and the backlog. */
export async function readMetrics(ports: Ports, actor: Actor): Promise<Metrics> {
  const [stats, totals] = await Promise.all([
    ports.store.readStats(actor, GAUGE_MAX),
    ports.store.readTotals(),
  ]);
  return { ...totals, stats, types: [...ports.registry.keys()] };
}
