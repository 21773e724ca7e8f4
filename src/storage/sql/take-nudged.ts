import { sql } from "drizzle-orm";
import type { Wakeup } from "../../core/job.js";
import type { Database } from "../client.js";
import { isNoneOf, isPaused, wakeupColumns, wakeupGrace } from "../fragments.js";
import { toWakeup, type WakeupRow } from "../rows.js";

/**
 * Marks the named jobs that are known not to be published as published, for the caller to publish.
 *
 * Guard: still unpublished once the row's lock is held, and of a type that may be published.
 * Locks: skips rows that are locked at this moment: a sweep takes them. At most `limit`.
 */
export async function takeNudged(
  db: Database,
  jobIds: string[],
  unpublishedTypes: string[],
  limit: number,
): Promise<Wakeup[]> {
  const rows = await db.run<WakeupRow>(sql`/* take-nudged */
with held as (
  select j.id from jsonb_array_elements_text(${JSON.stringify(jobIds)}::jsonb) as named(id)
  join jobs j on j.id = named.id::uuid
  where j.triggered_at is null and j.next_run_at is not null
    and ${isNoneOf(sql`j.job_type`, unpublishedTypes)} and not ${isPaused(sql`j.job_type`)}
  limit ${limit}::int for update of j skip locked),
marked as (
  update jobs j set
    triggered_at = now(), updated_at = now(),
    next_trigger_at = case when j.next_run_at is not null
      then greatest(now(), j.next_run_at) + ${wakeupGrace} end
  from held where j.id = held.id
  returning j.*)
select ${wakeupColumns(sql`j`)} from marked j order by j.next_run_at`);
  return rows.map(toWakeup);
}
