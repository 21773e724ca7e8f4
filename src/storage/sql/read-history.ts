import { sql } from "drizzle-orm";
import type { ActivityCounts, Buckets } from "../../core/activity.js";
import { bucketOf, bucketSpan, countColumns } from "../activity-counts.js";
import type { Database } from "../client.js";

/**
 * Counts rolled-up attempts of a stretch of time by outcome, duration and wait.
 *
 * Shape: one range of minutes for each measure, whatever the history before it.
 */
export async function readHistory(db: Database, buckets: Buckets): Promise<ActivityCounts> {
  const [row] = await db.run<ActivityCounts>(sql`/* read-history */
with ${bucketSpan(buckets)},
fact as (
  select ${bucketOf(sql`s.minute`, buckets)} as bucket, s.job_type, s.measure, s.label, s.count
  from span, (values ('attempt'), ('duration'), ('wait')) wanted(measure) cross join lateral (
    select * from job_stats where measure = wanted.measure and minute >= span.since) s)
select ${countColumns} from span`);
  if (!row) throw new Error("the read-history statement gives exactly one row");
  return row;
}
