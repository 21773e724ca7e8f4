import { describe, expect, test } from "vitest";
import type { Stats, TypeStats } from "../../src/core/listing.js";
import { attentionOf } from "../../src/dashboard/attention.js";
import {
  attemptBars,
  numberBars,
  percentileBars,
  percentilesOf,
} from "../../src/dashboard/charts/activity-series.js";
import { BarChart, type BarChartProps } from "../../src/dashboard/charts/bar-chart.js";
import { SplitBar } from "../../src/dashboard/charts/split-bar.js";
import {
  formatAgo,
  formatCount,
  formatDuration,
  formatNumber,
} from "../../src/dashboard/format.js";
import { instantOf } from "../../src/dashboard/job-filter.js";
import { percentile } from "../../src/dashboard/percentile.js";
import type { Activity } from "../../src/engine/read-activity.js";

const CHART: BarChartProps = {
  title: "Attempts",
  summary: "3 completed, 1 failed.",
  series: [
    { name: "Completed", tone: "completed" },
    { name: "Failed", tone: "failed" },
  ],
  bars: [
    { label: "10:00", values: [3, 1] },
    { label: "10:10", values: [0, null] },
  ],
  stacked: true,
  format: formatNumber,
  empty: "No attempts.",
};
const rectsOf = (svg: string, tone: string) =>
  [...svg.matchAll(new RegExp(`<rect class="${tone}"([^>]*)>`, "g"))].map(([, rest = ""]) =>
    Object.fromEntries([...rest.matchAll(/(\w+)="([^"]*)"/g)].map(([, k, v]) => [k, Number(v)])),
  );

describe("a bar chart", () => {
  test("stacks its series to the height of the highest sum", () => {
    const svg = String(BarChart(CHART));
    expect(rectsOf(svg, "completed")).toMatchObject([{ y: 25, height: 75 }]);
    expect(rectsOf(svg, "failed")).toMatchObject([{ y: 0, height: 25 }]);
  });

  test("or puts the smaller value before the larger one", () => {
    const svg = String(BarChart({ ...CHART, stacked: false }));
    expect(rectsOf(svg, "completed")).toMatchObject([{ y: 0, height: 100 }]);
    expect(rectsOf(svg, "failed")).toMatchObject([{ y: 66.7, height: 33.3 }]);
  });

  test("says in words and in a table what it draws, and draws without inline style", () => {
    const html = String(BarChart(CHART));
    expect(html).toContain('role="img" aria-label="3 completed, 1 failed."');
    expect(html).toContain("<title>10:10: Completed 0, Failed –</title>");
    expect(html).toMatch(
      /<th scope="row">10:00<\/th><td class="number">3<\/td><td class="number">1/,
    );
    expect(html).not.toContain("style=");
  });

  test("of nothing says so", () => {
    const html = String(BarChart({ ...CHART, bars: [{ label: "10:00", values: [0, null] }] }));
    expect(html).toContain('aria-label="No attempts."');
    expect(html).not.toContain("<rect");
  });
});

test("a split bar shares its line by the values, and escapes their names", () => {
  const shares = [
    { name: "<due>", tone: "accent", value: 1 },
    { name: "later", tone: "light", value: 2 },
    { name: "none", tone: "failed", value: 0 },
  ];
  const html = String(SplitBar({ shares, max: 4 }));
  expect(rectsOf(html, "accent")).toMatchObject([{ x: 0, width: 25 }]);
  expect(rectsOf(html, "light")).toMatchObject([{ x: 25, width: 50 }]);
  expect(rectsOf(html, "failed")).toEqual([]);
  expect(html).toContain('aria-label="1 &lt;due&gt;, 2 later"');
});

describe("counted facts become", () => {
  const fact = (measure: string, label: string, count: number, at: number | string) => ({
    measure: measure as "attempt",
    label,
    count,
    bucket: typeof at === "number" ? at : null,
    type: typeof at === "string" ? at : null,
  });
  const activity: Activity = {
    sinceEpochSeconds: Date.UTC(2030, 0, 1, 10) / 1000,
    buckets: { count: 2, seconds: 600 },
    rolledUp: true,
    capped: false,
    sweepAgeSeconds: 1,
    facts: [
      fact("attempt", "completed", 3, 0),
      fact("attempt", "failed", 1, 1),
      fact("attempt", "lease_expired", 1, 1),
      fact("attempt", "snoozed", 9, 1),
      fact("attempt", "completed", 3, "a"),
      fact("wait", "0.5", 8, 1),
      fact("wait", "5", 2, 1),
      fact("wait", "5", 2, "a"),
      fact("number", "1", 4, 0),
      fact("number", "8", 1, 1),
    ],
  };

  test("bars over time", () => {
    expect(attemptBars(activity)).toEqual([
      { label: "10:00", values: [3, 0, 0] },
      { label: "10:10", values: [0, 2, 0] },
    ]);
  });

  test("percentiles of a bucket, of all and of one type", () => {
    expect(percentileBars(activity, "wait")[0]).toEqual({ label: "10:00", values: [null, null] });
    expect(percentileBars(activity, "wait")[1]?.values[1]).toBeCloseTo(0.3125);
    expect(percentilesOf(activity, "wait", null).p95).toBeCloseTo(4.375, 2);
    expect(percentilesOf(activity, "wait", "a").p50).toBeCloseTo(3.75);
    expect(percentilesOf(activity, "duration", "a")).toEqual({ p50: null, p95: null });
  });

  test("attempts by their number, the last for all that follow", () => {
    const bars = numberBars(activity);
    expect(bars[0]).toEqual({ label: "1", values: [4] });
    expect(bars[7]).toEqual({ label: "8+", values: [1] });
  });
});

describe("a percentile", () => {
  const bounds = [1, 10, 100];

  test("lies in its bucket, and beyond the last bound is that bound", () => {
    const counts = new Map([
      ["1", 90],
      ["inf", 10],
    ]);
    expect(percentile(counts, 0.45, bounds)).toBeCloseTo(0.5);
    expect(percentile(counts, 0.95, bounds)).toBe(100);
    expect(percentile(new Map(), 0.5, bounds)).toBeNull();
  });

  test("counts rows of bounds that this build no longer has", () => {
    const counts = new Map([
      ["1", 1],
      ["5", 1],
    ]);
    expect(percentile(counts, 1, bounds)).toBe(5);
  });
});

describe("for the reader's eye", () => {
  test.each([
    [0.004, "4 ms"],
    [0.42, "0.42 s"],
    [9.96, "10 s"],
    [59.6, "1 min"],
    [185, "3 min 5 s"],
    [7800, "2 h 10 min"],
    [86_400 * 4 + 3 * 3600 + 5, "4 d 3 h"],
  ])("%s seconds are %s", (seconds, text) => {
    expect(formatDuration(seconds)).toBe(text);
  });

  test.each([
    ["2030-01-01T10:00:00.500Z", "now"],
    ["2030-01-01T09:57:55.000Z", "2 min ago"],
    ["2030-01-01T11:30:00.000Z", "in 1 h"],
  ])("%s is %s at ten", (at, text) => {
    expect(formatAgo(at, Date.UTC(2030, 0, 1, 10))).toBe(text);
  });

  test("numbers have groups, and a plus where counting stopped", () => {
    expect(formatNumber(1_234_567)).toBe("1,234,567");
    expect(formatCount({ count: 1000, capped: true })).toBe("1,000+");
  });

  test("dates in forms are UTC, and exist", () => {
    expect(instantOf("2030-01-31T09:00")).toBe("2030-01-31T09:00:00.000Z");
    for (const none of ["2030-02-30T00:00", "0000-01-01T00:00", "2030-01-31", "x"]) {
      expect(instantOf(none)).toBeUndefined();
    }
  });
});

describe("what needs attention", () => {
  const exactly = (count: number) => ({ count, capped: false });
  const calm: TypeStats = {
    type: "a",
    paused: false,
    queuedDue: exactly(0),
    queuedLater: exactly(0),
    failed: exactly(0),
    processing: exactly(0),
    expiredLeases: exactly(0),
    deadLetters: exactly(0),
    oldestDueSeconds: null,
    attempts: { since: "", capped: false, byOutcome: {} },
  };
  const swept = { sweepAgeSeconds: 60, sweepIntervalSeconds: 60 };
  const found = (types: TypeStats[], rules: Parameters<typeof attentionOf>[1] = swept) =>
    attentionOf({ at: "", types } satisfies Stats, rules).map(
      ({ tone, what }) => `${tone}: ${what}`,
    );

  test("is nothing while all is well", () => {
    expect(found([{ ...calm, oldestDueSeconds: 1700, queuedDue: exactly(9) }])).toEqual([]);
  });

  test("comes worst first", () => {
    const types = [
      { ...calm, type: "p", paused: true, oldestDueSeconds: 9000 },
      { ...calm, type: "d", deadLetters: exactly(1) },
      { ...calm, type: "l", expiredLeases: exactly(2), oldestDueSeconds: 1900 },
    ];
    expect(found(types, { ...swept, sweepAgeSeconds: 181 })).toEqual([
      "bad: The last sweep was 3 min 1 s ago",
      "bad: l: 2 running with an expired lease",
      "bad: l: due for 31 min 40 s",
      "warn: d: 1 dead letter",
      "calm: p is paused",
    ]);
  });
});
