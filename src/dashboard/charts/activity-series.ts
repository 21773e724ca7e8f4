/** From counted facts to what charts and tables show. */

import type { ActivityFact, ActivityMeasure } from "../../core/activity.js";
import { groupBy } from "../../core/group-by.js";
import { DURATION_BOUNDS_SECONDS, WAIT_BOUNDS_SECONDS } from "../../core/monitoring.js";
import type { Activity } from "../../engine/read-activity.js";
import { type Histogram, percentile } from "../percentile.js";

/** Outcomes that are a success, a try that another follows, or an end without success. */
const OUTCOMES = {
  completed: ["completed"],
  retried: ["failed", "lease_expired"],
  dead: ["dead_letter"],
} as const;

export type Bars = { label: string; values: (number | null)[] }[];

/** The attempts of each bucket: completed, failed with another to follow, given up. */
export function attemptBars(activity: Activity): Bars {
  return bucketsOf(activity, "attempt").map(({ label, counts }) => ({
    label,
    values: Object.values(OUTCOMES).map((outcomes) =>
      outcomes.reduce((sum, outcome) => sum + (counts.get(outcome) ?? 0), 0),
    ),
  }));
}

/** The 50th and the 95th percentile of each bucket in seconds, the larger one first. */
export function percentileBars(activity: Activity, measure: "duration" | "wait"): Bars {
  return bucketsOf(activity, measure).map(({ label, counts }) => ({
    label,
    values: [0.95, 0.5].map((share) => percentile(counts, share, boundsOf(measure))),
  }));
}

/** How many attempts were the first of their job, the second, and so on. */
export function numberBars({ facts }: Activity): Bars {
  const counts = sumByLabel(
    facts.filter((fact) => fact.measure === "number" && fact.type === null),
  );
  const last = Math.max(4, ...[...counts.keys()].map(Number));
  return Array.from({ length: last }, (_, at) => ({
    label: at + 1 === 8 ? "8+" : String(at + 1),
    values: [counts.get(String(at + 1)) ?? 0],
  }));
}

/** The percentiles of one type, or of all, over the whole time. */
export function percentilesOf(
  { facts }: Activity,
  measure: "duration" | "wait",
  type: string | null,
): { p50: number | null; p95: number | null } {
  const own = facts.filter((fact) => fact.measure === measure && fact.type === type);
  const counts = sumByLabel(own);
  const at = (share: number) => percentile(counts, share, boundsOf(measure));
  return { p50: at(0.5), p95: at(0.95) };
}

function boundsOf(measure: "duration" | "wait"): readonly number[] {
  return measure === "duration" ? DURATION_BOUNDS_SECONDS : WAIT_BOUNDS_SECONDS;
}

function bucketsOf(
  { sinceEpochSeconds, buckets, facts }: Activity,
  measure: ActivityMeasure,
): { label: string; counts: Histogram }[] {
  const byBucket = groupBy(
    facts.filter((fact) => fact.measure === measure && fact.bucket !== null),
    ({ bucket }) => bucket,
  );
  return Array.from({ length: buckets.count }, (_, at) => ({
    label: new Date((sinceEpochSeconds + at * buckets.seconds) * 1000).toISOString().slice(11, 16),
    counts: sumByLabel(byBucket.get(at) ?? []),
  }));
}

function sumByLabel(facts: readonly ActivityFact[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { label, count } of facts) counts.set(label, (counts.get(label) ?? 0) + count);
  return counts;
}
