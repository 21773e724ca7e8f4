import { sql } from "drizzle-orm";
import type { Database } from "../client.js";

/**
 * Deletes jobs that ended longer ago than their retention, with everything that belongs to them.
 *
 * Guard: terminal and old enough once the row's lock is held (I10); live jobs have no finish time.
 *        Attempts that no roll-up has counted yet stay, or the counters would never know of them.
 * Locks: skips rows that are locked at this moment; oldest first, `limit` of them.
 */
export async function pruneJobs(
  db: Database,
  retention: { finishedDays: number; deadLetterDays: number },
  limit: number,
): Promise<number> {
  const kept = sql`case when status = 'dead_letter'
    then make_interval(days => ${retention.deadLetterDays}::int)
    else make_interval(days => ${retention.finishedDays}::int) end`;
  const [row] = await db.run<{ pruned: number }>(sql`/* prune-jobs */
with old as (
  select id from jobs
  where finished_at < now() - make_interval(days => least(${retention.finishedDays}::int, ${retention.deadLetterDays}::int))
    and finished_at < now() - ${kept}
    and finished_at <= coalesce(
      (select coalesce(rolled_up_to, '-infinity') from sweep_state), 'infinity'::timestamptz)
  order by finished_at limit ${limit}::int for update skip locked),
pruned as (
  delete from jobs where id in (select id from old) and finished_at < now() - ${kept} returning id),
attempts as (delete from job_attempts where job_id in (select id from pruned)),
effects as (delete from job_effects where job_id in (select id from pruned)),
events as (delete from job_events where job_id in (select id from pruned))
select count(*)::int as pruned from pruned`);
  return row?.pruned ?? 0;
}
