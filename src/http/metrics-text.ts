/** Metrics in Prometheus's text exposition format. */

import { groupBy } from "../core/group-by.js";
import {
  BEYOND_BOUNDS,
  DURATION_BOUNDS_SECONDS,
  type Measure,
  type Metrics,
  WAIT_BOUNDS_SECONDS,
} from "../core/monitoring.js";

type Labels = Readonly<Record<string, string>>;
interface Sample {
  /** Added to the family's name. */
  suffix?: "_bucket" | "_sum" | "_count";
  labels: Labels;
  value: number;
}

/** Where a job waits or rests, by the members of the stats that count it. */
const GAUGES = {
  queued: ["queuedDue", "queuedLater"],
  failed: ["failed"],
  processing: ["processing"],
  dead_letter: ["deadLetters"],
} as const;

/**
 * Writes the metrics down.
 *
 * Shape: labels are job types, outcomes and codes, never ids or tenants, so that the number of
 *        series does not grow with the work. Ended jobs are left out of the gauge: to count them
 *        would be to read the history.
 */
export function metricsText(metrics: Metrics): string {
  return [...gauges(metrics), ...attemptFamilies(metrics), ...serviceFamilies(metrics)].join("");
}

function gauges({ stats, types }: Metrics): string[] {
  const byType = new Map(stats.types.map((each) => [each.type, each]));
  const names = [...new Set([...types, ...byType.keys()])].toSorted();
  const jobs = names.flatMap((type) =>
    Object.entries(GAUGES).map(([status, members]) => {
      const counted = byType.get(type);
      const value = members.reduce((sum, member) => sum + (counted?.[member].count ?? 0), 0);
      return { labels: { status, type }, value };
    }),
  );
  const oldest = names.map((type) => ({
    labels: { type },
    value: Math.max(0, byType.get(type)?.oldestDueSeconds ?? 0),
  }));
  return [
    family("antrean_jobs", "gauge", "Jobs by status; counted up to 10000 a priority.", jobs),
    family(
      "antrean_oldest_due_seconds",
      "gauge",
      "How long the longest due job has been waiting; 0 when none is due.",
      oldest,
    ),
  ];
}

function attemptFamilies(metrics: Metrics): string[] {
  const typed = (measure: Measure, label?: string): Sample[] =>
    metrics.totals
      .filter((total) => total.measure === measure)
      .map(({ type, label: value, count }) => ({
        labels: label === undefined ? { type } : { type, [label]: value },
        value: count,
      }));
  return [
    family(
      "antrean_attempts_total",
      "counter",
      "Ended attempts by outcome.",
      typed("attempt", "outcome"),
    ),
    family(
      "antrean_retries_total",
      "counter",
      "Failed attempts that another was to follow.",
      typed("retry"),
    ),
    family("antrean_errors_total", "counter", "Attempts by error code.", typed("error", "code")),
    family(
      "antrean_attempt_duration_seconds",
      "histogram",
      "How long attempts took; those whose lease expired are left out.",
      histogram(metrics, "duration", DURATION_BOUNDS_SECONDS),
    ),
    family(
      "antrean_wait_seconds",
      "histogram",
      "How long jobs had been due when an attempt began.",
      histogram(metrics, "wait", WAIT_BOUNDS_SECONDS),
    ),
  ];
}

function serviceFamilies({ totals, sweptAtEpochSeconds }: Metrics): string[] {
  const sum = (measure: Measure, label: string): number =>
    totals
      .filter((total) => total.measure === measure && total.label === label)
      .reduce((all, { count }) => all + count, 0);
  const outcomes = new Set(
    totals.filter(({ measure }) => measure === "delivery").map(({ label }) => label),
  );
  const deliveries = [...outcomes].map((outcome) => ({
    labels: { outcome },
    value: sum("delivery", outcome),
  }));
  const single = (value: number): Sample[] => [{ labels: {}, value }];
  return [
    family(
      "antrean_deliveries_total",
      "counter",
      "Verified deliveries that ran nothing, by reason.",
      deliveries,
    ),
    family(
      "antrean_publish_failures_total",
      "counter",
      "Messages that were not taken and are left to a sweep.",
      single(sum("publish_failure", "")),
    ),
    family(
      "antrean_leases_expired_total",
      "counter",
      "Attempts that did not report back in time.",
      single(sum("attempt", "lease_expired")),
    ),
    family(
      "antrean_last_sweep_timestamp_seconds",
      "gauge",
      "When a sweep last began; 0 before the first.",
      single(sweptAtEpochSeconds ?? 0),
    ),
  ];
}

/** Buckets are stored each by itself and told cumulatively; bounds of an older build stay. */
function histogram(
  { totals }: Metrics,
  measure: "duration" | "wait",
  bounds: readonly number[],
): Sample[] {
  const buckets = groupBy(
    totals.filter((total) => total.measure === measure),
    ({ type }) => type,
  );
  return [...buckets].flatMap(([type, counted]): Sample[] => {
    const counts = new Map(counted.map(({ label, count }) => [label, count]));
    const labels = new Set([...bounds.map(String), ...counts.keys()]);
    labels.delete(BEYOND_BOUNDS);
    let value = 0;
    const samples = [...labels]
      .toSorted((a, b) => Number(a) - Number(b))
      .map((le): Sample => {
        value += counts.get(le) ?? 0;
        return { suffix: "_bucket", labels: { type, le }, value };
      });
    value += counts.get(BEYOND_BOUNDS) ?? 0;
    const milliseconds = totals.find(
      (total) => total.measure === `${measure}_ms` && total.type === type,
    );
    return [
      ...samples,
      { suffix: "_bucket", labels: { type, le: "+Inf" }, value },
      { suffix: "_sum", labels: { type }, value: (milliseconds?.count ?? 0) / 1000 },
      { suffix: "_count", labels: { type }, value },
    ];
  });
}

function family(
  name: string,
  kind: "counter" | "gauge" | "histogram",
  help: string,
  samples: readonly Sample[],
): string {
  const lines = samples.map(
    ({ suffix = "", labels, value }) => `${name}${suffix}${labelText(labels)} ${value}\n`,
  );
  return `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${lines.join("")}`;
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escapeLabel(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
