import { sql } from "drizzle-orm";
import { MEASURES } from "../../core/monitoring.js";
import type { Database } from "../client.js";

const KEPT = sql`interval '90 days'`;

/**
 * Deletes counted minutes and closed incidents older than 90 days; the totals keep what they held.
 *
 * Guard: a minute is in the totals before it goes, however long no sweep came by.
 * Locks: skips rows that are locked at this moment; oldest first, `limit` of each measure.
 */
export async function pruneMonitoring(db: Database, limit: number): Promise<number> {
  const [row] = await db.run<{ pruned: number }>(sql`/* prune-monitoring */
with old_minute as (
  select s.* from jsonb_array_elements_text(${JSON.stringify(MEASURES)}::jsonb) m(measure)
  cross join lateral (
    select measure, minute, job_type, label, shard from job_stats
    where measure = m.measure and minute < now() - ${KEPT}
      and minute < (select rolled_up_to - interval '1 minute' from sweep_state)
    order by minute limit ${limit}::int for update skip locked) s),
minutes as (
  delete from job_stats s using old_minute o
  where s.measure = o.measure and s.minute = o.minute and s.job_type = o.job_type
    and s.label = o.label and s.shard = o.shard
  returning 1),
old_alert as (
  select id from alerts where closed_at < now() - ${KEPT}
  order by closed_at limit ${limit}::int for update skip locked),
incidents as (delete from alerts a using old_alert o where a.id = o.id returning 1)
select (select count(*) from minutes)::int + (select count(*) from incidents)::int as pruned`);
  return row?.pruned ?? 0;
}
