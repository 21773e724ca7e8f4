import { type SQL, sql } from "drizzle-orm";
import type { Buckets, RecentActivity } from "../../core/activity.js";
import {
  BEYOND_BOUNDS,
  DURATION_BOUNDS_SECONDS,
  WAIT_BOUNDS_SECONDS,
} from "../../core/monitoring.js";
import { workedTypes } from "../activity.js";
import { bucketOf, bucketSpan, countColumns } from "../activity-counts.js";
import type { Database } from "../client.js";

/** Attempts with this number and later ones are counted together. */
const NUMBER_MAX = 8;

/**
 * Counts the newest attempts themselves, which unlike the roll-ups know whose they are.
 *
 * Shape: at most `attemptsMax` index entries of each type, all tenants' among them; so for one
 *        tenant even few attempts may be `capped`.
 */
export async function readRecent(
  db: Database,
  tenant: string | null,
  buckets: Buckets,
  attemptsMax: number,
): Promise<RecentActivity> {
  // As a value and not as EXISTS, which the planner may answer by hashing the whole table.
  const isVisible =
    tenant === null
      ? sql`true`
      : sql`(select j.tenant from jobs j where j.id = a.job_id) = ${tenant}::text`;
  const [row] = await db.run<RecentActivity>(sql`/* read-recent */
with recursive ${workedTypes},
${bucketSpan(buckets)},
newest as materialized (
  select a.* from span, worked_type w cross join lateral (
    select *, row_number() over (order by finished_at desc) as nth from job_attempts
    where job_type = w.job_type and finished_at >= span.since
    order by finished_at desc limit ${attemptsMax}::int) a),
attempt as materialized (
  select ${bucketOf(sql`a.finished_at`, buckets)} as bucket, a.job_type, a.outcome, a.number,
    a.wait_seconds as waited, case when a.outcome <> 'lease_expired'
      then greatest(0, extract(epoch from a.finished_at - a.started_at))::float8 end as took
  from newest a, span where ${isVisible}),
fact(bucket, job_type, measure, label, count) as (
  select bucket, job_type, 'attempt', outcome, 1 from attempt
  union all
  select bucket, job_type, 'number', least(number, ${NUMBER_MAX}::int)::text, 1 from attempt
  union all ${histogram("duration", sql`took`, DURATION_BOUNDS_SECONDS)}
  union all ${histogram("wait", sql`waited`, WAIT_BOUNDS_SECONDS)})
select exists (select from newest where nth = ${attemptsMax}::int) as capped,
  (select extract(epoch from now() - swept_at)::float8 from sweep_state) as "sweepAgeSeconds",
  ${countColumns}
from span`);
  if (!row) throw new Error("the read-recent statement gives exactly one row");
  return row;
}

/** Each attempt under the lowest bound that it does not exceed, as roll-ups count it. */
function histogram(measure: "duration" | "wait", seconds: SQL, bounds: number[]): SQL {
  return sql`
  select bucket, job_type, ${measure}::text, coalesce((
    select bound from jsonb_array_elements_text(${JSON.stringify(bounds)}::jsonb) bound
    where ${seconds} <= bound::float8 order by bound::float8 limit 1), ${BEYOND_BOUNDS}::text), 1
  from attempt where ${seconds} is not null`;
}
