/** The first page: what needs somebody, what waits and runs, and how it went lately. */

import type { TypeStats } from "../../core/listing.js";
import { type Activity, readActivity } from "../../engine/read-activity.js";
import { readStats } from "../../engine/read-stats.js";
import { type Attention, attentionOf } from "../attention.js";
import {
  attemptBars,
  numberBars,
  percentileBars,
  percentilesOf,
} from "../charts/activity-series.js";
import { BarChart } from "../charts/bar-chart.js";
import { SplitBar } from "../charts/split-bar.js";
import { Empty } from "../components/empty.js";
import { type Column, Table } from "../components/table.js";
import { formatCount, formatDuration, formatNumber } from "../format.js";
import type { Html, Page, Visit } from "../visit.js";

export const overview: Page = {
  path: "/",
  section: "",
  async render(visit) {
    const { ports, actor } = visit;
    const [stats, activity] = await Promise.all([
      readStats(ports, actor),
      readActivity(ports, actor),
    ]);
    const attention = attentionOf(stats, {
      sweepAgeSeconds: activity.sweepAgeSeconds,
      sweepIntervalSeconds: ports.settings.sweepIntervalSeconds,
    });
    const body = (
      <>
        <div class="head">
          <h1>Overview</h1>
          <p class="soft">
            {activity.sweepAgeSeconds === null ? (
              "No sweep yet"
            ) : (
              <>
                Last sweep <time>{formatDuration(Math.floor(activity.sweepAgeSeconds))}</time> ago
              </>
            )}
          </p>
        </div>
        <AttentionList visit={visit} items={attention} />
        <Tiles visit={visit} types={stats.types} />
        <Charts activity={activity} />
        <h2>Job types</h2>
        <Types visit={visit} types={stats.types} activity={activity} />
      </>
    );
    return { title: attention.length > 0 ? `Overview (${attention.length})` : "Overview", body };
  },
};

function AttentionList({ visit, items }: { visit: Visit; items: Attention[] }): Html {
  if (items.length === 0) return <p class="calm-line">Nothing needs you now.</p>;
  return (
    <section aria-label="Needs attention">
      <ul class="attention">
        {items.map(({ tone, what, hint, path }) => (
          <li class={tone}>
            {path ? <a href={visit.base + path}>{what}</a> : <b>{what}</b>}
            <span class="soft">{hint}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

type Counted = "queuedDue" | "processing" | "failed" | "queuedLater" | "deadLetters";

function Tiles({ visit, types }: { visit: Visit; types: TypeStats[] }): Html {
  const sum = (member: Counted): string =>
    formatCount({
      count: types.reduce((all, each) => all + each[member].count, 0),
      capped: types.some((each) => each[member].capped),
    });
  const oldest = Math.max(0, ...types.map(({ oldestDueSeconds }) => oldestDueSeconds ?? 0));
  const tiles: [name: string, value: string, path: string][] = [
    ["Due now", sum("queuedDue"), "/jobs?status=queued"],
    ["Oldest due", formatAge(oldest), "/jobs?status=queued"],
    ["Running", sum("processing"), "/jobs?status=processing"],
    ["Retrying", sum("failed"), "/jobs?status=failed"],
    ["Scheduled", sum("queuedLater"), "/jobs?status=queued"],
    ["Dead letters", sum("deadLetters"), "/dead-letters"],
  ];
  return (
    <ul class="tiles">
      {tiles.map(([name, value, path]) => (
        <li>
          <a href={visit.base + path}>
            <span class="soft">{name}</span>
            <b>{value}</b>
          </a>
        </li>
      ))}
    </ul>
  );
}

function Charts({ activity }: { activity: Activity }): Html {
  const { buckets, rolledUp } = activity;
  const hours = (buckets.count * buckets.seconds) / 3600;
  const span = hours === 1 ? "the last hour" : `the last ${hours} hours`;
  const attempts = attemptBars(activity);
  const said = ["completed", "failed", "gave up"]
    .map(
      (name, at) => `${attempts.reduce((sum, { values }) => sum + (values[at] ?? 0), 0)} ${name}`,
    )
    .join(", ");
  const empty = `No attempt ended in ${span}.`;
  return (
    <>
      <div class="head">
        <h2>Attempts in {span}</h2>
        <p class="soft">
          {rolledUp ? "Counted by sweeps, up to 30 s before the last one. " : ""}
          {!rolledUp && activity.capped ? "The newest 1,000 of each type. " : ""}Times in UTC.
        </p>
      </div>
      <div class="charts">
        <BarChart
          title="Throughput and failures"
          summary={`In ${span}: ${said}.`}
          series={[
            { name: "Completed", tone: "completed" },
            { name: "Failed", tone: "failed" },
            { name: "Gave up", tone: "dead_letter" },
          ]}
          bars={attempts}
          stacked
          format={formatNumber}
          empty={empty}
        />
        <BarChart
          title="Which attempt of its job, last hour"
          summary="How many attempts were the first of their job, the second, and so on."
          series={[{ name: "Attempts", tone: "accent" }]}
          bars={numberBars(activity)}
          stacked
          named
          format={formatNumber}
          empty="No attempt ended in the last hour."
        />
        <Percentiles
          title="Wait before an attempt"
          measure="wait"
          activity={activity}
          empty={empty}
        />
        <Percentiles
          title="Duration of an attempt"
          measure="duration"
          activity={activity}
          empty={empty}
        />
      </div>
    </>
  );
}

function Percentiles(props: {
  title: string;
  measure: "duration" | "wait";
  activity: Activity;
  empty: string;
}): Html {
  const { title, measure, activity } = props;
  const { p50, p95 } = percentilesOf(activity, measure, null);
  const said = (seconds: number | null) => (seconds === null ? "–" : formatDuration(seconds));
  return (
    <BarChart
      title={title}
      summary={`${title}: half took at most ${said(p50)}, 95 % at most ${said(p95)}.`}
      series={[
        { name: `95 %: ${said(p95)}`, tone: "light" },
        { name: `50 %: ${said(p50)}`, tone: "accent" },
      ]}
      bars={percentileBars(activity, measure)}
      stacked={false}
      format={formatDuration}
      empty={props.empty}
    />
  );
}

const COLUMNS: Column[] = [
  ["Type"],
  ["Backlog", "~"],
  ["Due", "#"],
  ["Oldest", "#"],
  ["Running", "#"],
  ["Retrying", "#"],
  ["Scheduled", "#"],
  ["Dead", "#"],
  ["Wait 50 / 95 %", "#"],
  ["Duration 50 / 95 %", "#"],
];

function Types(props: { visit: Visit; types: TypeStats[]; activity: Activity }): Html {
  const { visit, types, activity } = props;
  if (types.length === 0) {
    return (
      <Empty title="No job waits, runs or failed, and none ended in the last hour.">
        Create one with POST /api/jobs.
      </Empty>
    );
  }
  const backlogs = types.map(
    ({ queuedDue, failed, queuedLater }) => queuedDue.count + failed.count + queuedLater.count,
  );
  const max = Math.max(...backlogs);
  return (
    <Table
      caption="Job types in numbers"
      columns={COLUMNS}
      rows={types.map((each) => ({
        id: `t${each.type}`,
        cells: cellsOf(each, { visit, activity, max }),
      }))}
    />
  );
}

function cellsOf(
  stats: TypeStats,
  { visit, activity, max }: { visit: Visit; activity: Activity; max: number },
) {
  const { type, paused, queuedDue, failed, queuedLater, oldestDueSeconds } = stats;
  const shares = [
    { name: "due", tone: "accent", value: queuedDue.count },
    { name: "retrying", tone: "failed", value: failed.count },
    { name: "scheduled", tone: "light", value: queuedLater.count },
  ];
  return [
    <>
      <a href={`${visit.base}/jobs?type=${type}`}>{type}</a>{" "}
      {paused && <span class="tag">paused</span>}
    </>,
    <SplitBar max={max} shares={shares} />,
    formatCount(queuedDue),
    <time>{formatAge(oldestDueSeconds)}</time>,
    ...[stats.processing, failed, queuedLater, stats.deadLetters].map(formatCount),
    ...(["wait", "duration"] as const).map((measure) => {
      const { p50, p95 } = percentilesOf(activity, measure, type);
      return p50 === null ? "–" : `${formatDuration(p50)} / ${formatDuration(p95 ?? p50)}`;
    }),
  ];
}

/** Whole seconds; less than one is not worth a word. */
function formatAge(seconds: number | null): string {
  return seconds === null || seconds < 1 ? "–" : formatDuration(Math.floor(seconds));
}
