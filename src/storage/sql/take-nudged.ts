import { sql } from "drizzle-orm";
import type { Wakeup } from "../../core/job.js";
import type { Take } from "../../core/sweep.js";
import type { Database } from "../client.js";
import { isNoneOf, isPaused, wakeupColumns, wakeupGrace } from "../fragments.js";
import { toWakeup, type WakeupRow } from "../rows.js";
import { firstTryEnded, isFirstTry, takenBefore } from "../takes.js";

/**
 * Marks the named jobs that are known not to be published as published, for the caller to publish.
 *
 * Guard:  still unpublished once the row's lock is held, and of a type that may be published.
 * Locks:  skips rows that are locked at this moment: a sweep takes them. At most `limit`.
 * Repeat: finds its own take and gives its messages again.
 */
export async function takeNudged(
  db: Database,
  jobIds: string[],
  { takeId, unpublishedTypes, limit }: Take,
): Promise<Wakeup[]> {
  const [, rows] = await db.batch<[unknown[], WakeupRow[]]>([
    sql`/* take-nudged: wait */ ${firstTryEnded(takeId)}`,
    sql`/* take-nudged */
with ${takenBefore(takeId)},
held as (
  select j.id from jsonb_array_elements_text(${JSON.stringify(jobIds)}::jsonb) as named(id)
  join jobs j on j.id = named.id::uuid
  where ${isFirstTry} and j.triggered_at is null and j.next_run_at is not null
    and ${isNoneOf(sql`j.job_type`, unpublishedTypes)} and not ${isPaused(sql`j.job_type`)}
  limit ${limit}::int for update of j skip locked),
marked as (
  update jobs j set
    triggered_at = now(), take_id = ${takeId}::uuid, updated_at = now(),
    next_trigger_at = case when j.next_run_at is not null
      then greatest(now(), j.next_run_at) + ${wakeupGrace} end
  from held where j.id = held.id
  returning j.*)
select ${wakeupColumns(sql`j`)}
from (select * from marked union all select * from again) j order by j.next_run_at`,
  ]);
  return rows.map(toWakeup);
}
