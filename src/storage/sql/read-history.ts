import { sql } from "drizzle-orm";
import type { ActivityCounts, Buckets } from "../../core/activity.js";
import { bucketOf, bucketSpan, bucketsSince, countColumns } from "../activity-counts.js";
import type { Database } from "../client.js";

/**
 * Counts rolled-up attempts of a stretch of time by outcome, duration and wait.
 *
 * Shape: one range of minutes for each measure, whatever the history before it. Its start is written
 *        out, since of a column of `span` the planner would expect a third of the table.
 */
export async function readHistory(db: Database, buckets: Buckets): Promise<ActivityCounts> {
  const [row] = await db.run<ActivityCounts>(sql`/* read-history */
with ${bucketSpan(buckets)},
fact as (
  select ${bucketOf(sql`s.minute`, buckets)} as bucket, s.job_type, s.measure, s.label, s.count
  from span, job_stats s
  where s.measure in ('attempt', 'duration', 'wait') and s.minute >= ${bucketsSince(buckets)})
select ${countColumns} from span`);
  if (!row) throw new Error("the read-history statement gives exactly one row");
  return row;
}
