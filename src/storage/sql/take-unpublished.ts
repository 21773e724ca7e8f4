import { sql } from "drizzle-orm";
import type { Wakeup } from "../../core/job.js";
import type { Take } from "../../core/sweep.js";
import { openTypes, waitingTypes } from "../activity.js";
import type { Database } from "../client.js";
import { wakeupColumns, wakeupGrace } from "../fragments.js";
import { toWakeup, type WakeupRow } from "../rows.js";
import { firstTryEnded, isFirstTry, takenBefore } from "../takes.js";

const unpublished = sql`triggered_at is null and next_run_at is not null`;

/**
 * Marks waiting jobs that are known not to be published as published, for the caller to publish.
 *
 * Shape:  the seq stays, so that a publish which did get through is recognised as the same message.
 * Guard:  still unpublished once the row's lock is held; a sweep beside this one gets other rows.
 * Locks:  skips rows that are locked at this moment; oldest due first, `limit` of them.
 * Repeat: finds its own take and gives its messages again.
 */
export async function takeUnpublished(
  db: Database,
  { takeId, unpublishedTypes, limit }: Take,
): Promise<Wakeup[]> {
  const [, rows] = await db.batch<[unknown[], WakeupRow[]]>([
    sql`/* take-unpublished: wait */ ${firstTryEnded(takeId)}`,
    sql`/* take-unpublished */
with recursive ${takenBefore(takeId)},
${waitingTypes(unpublished)},
${openTypes(unpublishedTypes)},
candidate as (
  select c.id from open_type t cross join lateral (
    select id, next_run_at from jobs
    where job_type = t.job_type and ${unpublished} and ${isFirstTry}
    order by next_run_at limit ${limit}::int) c
  order by c.next_run_at limit ${limit}::int),
held as (
  select j.id from jobs j join candidate using (id)
  where j.triggered_at is null and j.next_run_at is not null for update of j skip locked),
marked as (
  update jobs j set
    triggered_at = now(), take_id = ${takeId}::uuid, updated_at = now(),
    next_trigger_at = case when j.next_run_at is not null
      then greatest(now(), j.next_run_at) + ${wakeupGrace} end
  from held where j.id = held.id
  returning j.*),
noted as (
  insert into job_events (job_id, action_id, at, kind, data)
  select id, gen_random_uuid(), now(), 'published',
    jsonb_build_object('seq', trigger_seq, 'why', 'unpublished')
  from marked)
select ${wakeupColumns(sql`j`)}
from (select * from marked union all select * from again) j order by j.next_run_at`,
  ]);
  return rows.map(toWakeup);
}
