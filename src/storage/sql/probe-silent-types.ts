import { sql } from "drizzle-orm";
import type { Wakeup } from "../../core/job.js";
import type { Take } from "../../core/sweep.js";
import {
  claimedSince,
  isMoving,
  nextLook,
  openTypes,
  running,
  SILENCE,
  waitingTypes,
} from "../activity.js";
import type { Database } from "../client.js";
import { wakeupColumns } from "../fragments.js";
import { toWakeup, type WakeupRow } from "../rows.js";
import { firstTryEnded, isFirstTry, takenBefore } from "../takes.js";

/**
 * Picks one job of each type that has due work and does not move, to be published again as a probe.
 *
 * Shape:  the longest due job, with a new seq; probes are 1, 2, 4 … 60 minutes apart while no claim
 *         follows, so that refused callbacks never become a storm.
 * Not:    a job whose message left a moment ago, as by this very sweep.
 * Guard:  the type's probe time, on its row of type_state, so that of several sweeps one probes.
 * Locks:  one job a type, skipping locked ones, so that a probe is counted only where one is sent;
 *         then rows of type_state in order of their types, whose holders wait for no job.
 * Repeat: finds its own take and gives its messages again.
 */
export async function probeSilentTypes(
  db: Database,
  { takeId, unpublishedTypes, limit }: Take,
): Promise<Wakeup[]> {
  const [, rows] = await db.batch<[unknown[], WakeupRow[]]>([
    sql`/* probe-silent-types: wait */ ${firstTryEnded(takeId)}`,
    sql`/* probe-silent-types */
with recursive ${takenBefore(takeId)},
${waitingTypes(sql`next_run_at is not null`)},
${openTypes(unpublishedTypes)},
${running},
head as (
  select t.job_type, first.id, first.triggered_at from open_type t cross join lateral (
    select due.id, due.next_run_at, due.triggered_at
    from generate_series(9, 0, -1) as level(priority) cross join lateral (
      select id, next_run_at, triggered_at from jobs
      where job_type = t.job_type and priority = level.priority
        and next_run_at <= now() - ${SILENCE}
      order by next_run_at limit 1) due
    order by due.next_run_at limit 1) first),
silent as (
  select head.job_type, head.id from head
  where ${isFirstTry} and not ${isMoving(sql`head.job_type`)}
    and (head.triggered_at is null or head.triggered_at <= now() - ${SILENCE})
  order by head.job_type limit ${limit}::int),
held as (
  select j.id, j.job_type from jobs j join silent using (id)
  where j.next_run_at <= now() - ${SILENCE} for update of j skip locked),
probed as (
  insert into type_state as t (job_type, probes, probed_at, next_probe_at)
  select job_type, 1, now(), now() + interval '1 minute' from held order by job_type
  on conflict (job_type) do update set
    probes = case when ${claimedSince(sql`t.job_type`, sql`t.probed_at`)} then 1 else t.probes + 1 end,
    probed_at = now(),
    next_probe_at = now() + least(interval '1 hour', interval '1 minute'
      * case when ${claimedSince(sql`t.job_type`, sql`t.probed_at`)} then 1 else power(2, least(t.probes, 6)) end)
  where t.next_probe_at is null or t.next_probe_at <= now()
  returning t.job_type),
marked as (
  update jobs j set
    trigger_seq = j.trigger_seq + 1, triggered_at = now(), take_id = ${takeId}::uuid,
    updated_at = now(), next_trigger_at = case when j.next_run_at is not null then ${nextLook} end
  from held join probed using (job_type) where j.id = held.id
  returning j.*),
noted as (
  insert into job_events (job_id, action_id, at, kind, data)
  select id, gen_random_uuid(), now(), 'published',
    jsonb_build_object('seq', trigger_seq, 'why', 'probe')
  from marked)
select ${wakeupColumns(sql`j`)}
from (select * from marked union all select * from again) j`,
  ]);
  return rows.map(toWakeup);
}
