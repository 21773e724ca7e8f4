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
  const count = async (query: string): Promise<[string, number][]> => {
    const { rows } = await stage.pool.query<Counted>(`${query} group by 1 order by 2 desc, 1`);
    return rows.map(({ name, count }) => [name, count]);
  };
  const { told, damage, quiet, actions } = course;
  const { deliveries, fleet, qstash } = stage;
  const published = qstash.counts();
  return [
    ["clients", Object.entries({ "jobs accepted": told.jobIds.size, ...told.counts })],
    ["jobs by state", await count("select status as name, count(*)::int from jobs")],
    ["attempts by outcome", await count("select outcome as name, count(*)::int from job_attempts")],
    [
      "leases",
      [
        ["claimed by a delivery", evidence.attempts.filter(({ by }) => by === "delivery").length],
        ["claimed by a sweep", evidence.attempts.filter(({ by }) => by === "sweep").length],
        ...(await count(
          `select case when late_at is null then 'taken over, holder silent'
             else 'taken over, then a late finish' end as name, count(*)::int
           from job_attempts where outcome = 'lease_expired'`,
        )),
      ],
    ],
    [
      "effects",
      [
        ["run", evidence.effects.reduce((sum, { runs }) => sum + runs.length, 0)],
        ...(await count("select state as name, count(*)::int from job_effects")),
      ],
    ],
    ["deliveries by answer", sorted(deliveries.answers)],
    [
      "messages",
      [
        ["published", published.messages],
        ["refused publishes", published.refusedPublishes],
        ["recognised as repeats", published.deduplicated],
        ...(await count(
          `select case when data ? 'failed' then 'marked as not published'
             else 'published again: ' || coalesce(data ->> 'why', '?') end as name, count(*)::int
           from job_events where kind = 'published'`,
        )),
        ["late", deliveries.late],
        ["repeated later", deliveries.copies],
      ],
    ],
    ["sweeps that came to their end", sorted(evidence.sweeps)],
    ["operators", sorted(actions)],
    [
      "faults",
      [
        ["processes killed", fleet.kills],
        ["processes that ended by themselves", fleet.unaskedEnds],
        ["processes started", evidence.boots],
        ["database outages", damage.databaseOutages],
        ["QStash outages", damage.qstashOutages],
        ["windows of early deliveries", damage.earlyWindows],
      ],
    ],
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

function sorted(counts: ReadonlyMap<string, number>): [string, number][] {
  return [...counts].sort(([a], [b]) => a.localeCompare(b));
}
