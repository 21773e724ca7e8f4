import { type SQL, sql } from "drizzle-orm";
import {
  BEYOND_BOUNDS,
  DURATION_BOUNDS_SECONDS,
  type RolledUp,
  WAIT_BOUNDS_SECONDS,
} from "../../core/monitoring.js";
import { workedTypes } from "../activity.js";
import type { Database } from "../client.js";

/**
 * What ended later than this is left to a later roll-up. A row bears the time at which its statement
 * began and can be seen once that has committed, and no statement may take longer than 8 seconds
 * (migration 0001). So everything older is there to be seen, and the watermark may pass it.
 */
const SETTLED: SQL = sql`interval '30 seconds'`;

/** Counters that other statements write as things happen; only their closed minutes are added up. */
const LIVE_MEASURES: SQL = sql`(values ('delivery'), ('publish_failure')) live(measure)`;

/**
 * Counts attempts that ended since the last roll-up, into their minutes and into the totals.
 *
 * Shape:  takes the instants after the watermark in their order, `limit` of them and the ties of the
 *         last: ends of attempts, and ends of minutes that were counted live.
 * Guard:  the watermark's row is locked before anything is counted, and moves in this very
 *         statement; so each instant is counted once, and a repeat goes on where the first ended.
 * Locks:  that row, skipped when another sweep holds it: then that one counts. Nobody else writes
 *         the counters of these measures.
 */
export async function rollUpStats(db: Database, limit: number): Promise<RolledUp> {
  const [row] = await db.run<RolledUp>(sql`/* roll-up-stats */
with recursive ${workedTypes},
${span(limit)},
${attempts()},
${counted()},
minutes as (
  insert into job_stats as s (minute, job_type, measure, label, shard, count)
  select minute, job_type, measure, label, 0, sum(amount) from fact
  group by minute, job_type, measure, label
  on conflict (minute, job_type, measure, label, shard) do update set count = s.count + excluded.count),
totals as (
  insert into stat_totals as t (job_type, measure, label, count)
  select job_type, measure, label, sum(amount) from (
    select job_type, measure, label, amount from fact union all select * from live) added
  group by job_type, measure, label
  on conflict (measure, job_type, label) do update set count = t.count + excluded.count),
moved as (
  update sweep_state s set rolled_up_to = span.until from span where s.id)
select (select count(*)::int from attempt) as attempts,
  coalesce((select until < settled from span), false) as more`);
  if (!row) throw new Error("the roll-up-stats statement gives exactly one row");
  return row;
}

/** A CTE `span`: the instants that this statement counts; none while another one is at it. */
const span = (limit: number): SQL => sql`mark as materialized (
  select coalesce(rolled_up_to, '-infinity') as since, now() - ${SETTLED} as settled
  from sweep_state where id for update skip locked),
instant as (
  select a.finished_at as at from mark, worked_type w cross join lateral (
    select finished_at from job_attempts
    where job_type = w.job_type and finished_at > mark.since and finished_at <= mark.settled
    order by finished_at limit ${limit}::int) a
  union all
  select l.minute + interval '1 minute' from mark, ${LIVE_MEASURES} cross join lateral (
    select s.minute from job_stats s
    where s.measure = live.measure and s.minute > mark.since - interval '1 minute'
      and s.minute <= mark.settled - interval '1 minute'
    order by s.minute limit ${limit}::int) l),
span as materialized (
  select since, settled, greatest(since, coalesce(
    (select at from instant order by at offset ${limit - 1}::int limit 1), settled)) as until
  from mark)`;

/**
 * CTEs `attempt` and `live`: what lies in the span.
 *
 * How long a lost attempt really took nobody knows. Where it ended the job, whoever took the expired
 * lease wrote one instant into both rows.
 */
function attempts(): SQL {
  return sql`attempt as materialized (
  select a.job_type, date_trunc('minute', a.finished_at) as minute, a.outcome, a.error_code,
    a.wait_seconds as waited,
    case when a.outcome <> 'lease_expired'
      then greatest(0, extract(epoch from a.finished_at - a.started_at))::float8 end as took,
    case when a.outcome = 'lease_expired' then coalesce((select j.status from jobs j
      where j.id = a.job_id and j.finished_at = a.finished_at), 'failed') else a.outcome end as left_as
  from span, worked_type w cross join lateral (
    select * from job_attempts
    where job_type = w.job_type and finished_at > span.since and finished_at <= span.until) a),
live as (
  select s.job_type, s.measure, s.label, s.count as amount
  from span, ${LIVE_MEASURES} cross join lateral (
    select * from job_stats s
    where s.measure = live.measure and s.minute > span.since - interval '1 minute'
      and s.minute <= span.until - interval '1 minute') s)`;
}

/** A CTE `fact`: each attempt as the counters that it adds to. */
function counted(): SQL {
  return sql`fact(minute, job_type, measure, label, amount) as (
  select minute, job_type, 'attempt', outcome, 1::bigint from attempt
  union all
  select minute, job_type, 'error', error_code, 1 from attempt where error_code is not null
  union all
  select minute, job_type, 'retry', '', 1 from attempt where left_as = 'failed'
  union all
  select minute, job_type, 'dead_letter', '', 1 from attempt where left_as = 'dead_letter'
  union all
  ${histogram("duration", sql`took`, DURATION_BOUNDS_SECONDS)}
  union all
  ${histogram("wait", sql`waited`, WAIT_BOUNDS_SECONDS)})`;
}

/** A bucket's row and the sum's, in milliseconds so that it is a whole number. */
function histogram(measure: "duration" | "wait", seconds: SQL, bounds: number[]): SQL {
  const bucket = sql`coalesce((
    select bound from jsonb_array_elements_text(${JSON.stringify(bounds)}::jsonb) bound
    where ${seconds} <= bound::float8 order by bound::float8 limit 1), ${BEYOND_BOUNDS}::text)`;
  return sql`
  select minute, job_type, ${measure}::text, ${bucket}, 1 from attempt where ${seconds} is not null
  union all
  select minute, job_type, ${`${measure}_ms`}::text, '', round(${seconds} * 1000)::bigint
  from attempt where ${seconds} is not null`;
}
