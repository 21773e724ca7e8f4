/** The figures of a soak: what was done, and what came of it. */

import type { Evidence } from "./attempts.js";
import type { Course } from "./main.js";
import type { Stage } from "./stage.js";

/** Lines of a report: a heading and its figures. */
export type Figures = [heading: string, figures: [name: string, value: number | string][]][];

type Counted = { name: string; count: number };

/** Reads what the database counts and puts it beside what was counted outside. */
export async function readFigures(
  stage: Stage,
  course: Course,
  evidence: Evidence,
): Promise<Figures> {
  const { told, quiet, actions } = course;
  const count = async (query: string): Promise<[string, number][]> => {
    const { rows } = await stage.pool.query<Counted>(`${query} group by 1 order by 2 desc, 1`);
    return rows.map(({ name, count }) => [name, count]);
  };
  const effectRuns = evidence.effects.reduce((sum, { runs }) => sum + runs.length, 0);
  return [
    ["clients", Object.entries({ "jobs accepted": told.jobIds.size, ...told.counts })],
    ["jobs by state", await count("select status as name, count(*)::int from jobs")],
    ["attempts by outcome", await count("select outcome as name, count(*)::int from job_attempts")],
    ["leases", [...claims(evidence), ...(await count(TAKEOVERS))]],
    [
      "effects",
      [
        ["run", effectRuns],
        ...(await count("select state as name, count(*)::int from job_effects")),
      ],
    ],
    ["deliveries by answer", sorted(stage.deliveries.answers)],
    ["messages", [...messages(stage), ...(await count(PUBLISHES))]],
    ["sweeps that came to their end", sorted(evidence.sweeps)],
    ["operators", sorted(actions)],
    ["faults", faults(stage, course, evidence)],
    [
      "quiet",
      [
        ["seconds until all had ended", quiet.realSeconds.toFixed(1)],
        ["seconds that the clocks were moved on", Math.round(quiet.skippedSeconds)],
        ["unfinished", quiet.unfinished],
      ],
    ],
  ];
}

const TAKEOVERS = `select case when late_at is null then 'taken over, holder silent'
    else 'taken over, then a late finish' end as name, count(*)::int
  from job_attempts where outcome = 'lease_expired'`;

const PUBLISHES = `select case when data ? 'failed' then 'marked as not published'
    else 'published again: ' || coalesce(data ->> 'why', '?') end as name, count(*)::int
  from job_events where kind = 'published'`;

function claims({ attempts }: Evidence): [string, number][] {
  const count = (by: string): number => attempts.filter((each) => each.by === by).length;
  return [
    ["claimed by a delivery", count("delivery")],
    ["claimed by a sweep", count("sweep")],
  ];
}

function messages({ qstash, deliveries }: Stage): [string, number][] {
  const published = qstash.counts();
  return [
    ["published", published.messages],
    ["refused publishes", published.refusedPublishes],
    ["recognised as repeats", published.deduplicated],
    ["late", deliveries.late],
    ["repeated later", deliveries.copies],
  ];
}

function faults({ fleet }: Stage, { damage }: Course, { boots }: Evidence): [string, number][] {
  return [
    ["processes killed", fleet.kills],
    ["processes that ended by themselves", fleet.unaskedEnds],
    ["processes started", boots],
    ["database outages", damage.databaseOutages],
    ["QStash outages", damage.qstashOutages],
    ["windows of early deliveries", damage.earlyWindows],
  ];
}

function sorted(counts: ReadonlyMap<string, number>): [string, number][] {
  return [...counts].sort(([a], [b]) => a.localeCompare(b));
}
