/** Percentiles from histograms. */

import { BEYOND_BOUNDS } from "../core/monitoring.js";

/** Counts by the upper bound of their bucket, in seconds. */
export type Histogram = ReadonlyMap<string, number>;

/**
 * Estimates a percentile in seconds, evenly spread within its bucket; null without counts.
 *
 * Shape: what lies beyond the last bound counts as that bound: at least so long.
 */
export function percentile(
  histogram: Histogram,
  share: number,
  bounds: readonly number[],
): number | null {
  const labels = new Set([...bounds.map(String), ...histogram.keys()]);
  labels.delete(BEYOND_BOUNDS);
  const sorted = [...labels].map(Number).sort((a, b) => a - b);
  const total = [...histogram.values()].reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let below = 0;
  let lower = 0;
  for (const upper of sorted) {
    const count = histogram.get(String(upper)) ?? 0;
    if (count > 0 && below + count >= total * share) {
      return lower + (upper - lower) * ((total * share - below) / count);
    }
    below += count;
    lower = upper;
  }
  return lower;
}
