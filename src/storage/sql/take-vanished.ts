import { sql } from "drizzle-orm";
import type { Wakeup } from "../../core/job.js";
import type { Take } from "../../core/sweep.js";
import { claimedSince, isMoving, nextLook, openTypes, running, waitingTypes } from "../activity.js";
import type { Database } from "../client.js";
import { wakeupColumns } from "../fragments.js";
import { toWakeup, type WakeupRow } from "../rows.js";
import { firstTryEnded, isFirstTry, takenBefore } from "../takes.js";

/** An answer to a probe older than this says nothing about today; sweeps may be a day apart. */
const PROBE_VALID = sql`interval '25 hours'`;

/** A claim has followed the last probe of a silence. */
const answered = sql`(t.probes > 0 and t.probed_at > now() - ${PROBE_VALID}
  and ${claimedSince(sql`t.job_type`, sql`t.probed_at`)})`;

/** Bounds the count of recent attempts; a tenth of it is the largest allowance that matters. */
const ATTEMPTS_COUNTED_MAX = 10_000;

const overdue = sql`next_trigger_at is not null and triggered_at is not null`;

/**
 * Picks jobs that still wait long after their message should have come, to be published again.
 *
 * Shape:  in a type that moves, messages that wait behind flow control look the same, so at most
 *         10 + a tenth of its claims since the last sweep; in a silent one none until a claim has
 *         followed its probe, and then a full batch. With ten messages for each claim, an honest
 *         backlog of an hour sent more messages than it ran jobs.
 * Guard:  still overdue once the row's lock is held; the allowance is shared out on the type's row.
 * Locks:  rows of type_state in order of their types, then jobs, skipping locked ones.
 * Repeat: finds its own take and gives its messages again; shares out no second allowance.
 */
export async function takeVanished(
  db: Database,
  { takeId, unpublishedTypes, limit }: Take,
): Promise<Wakeup[]> {
  const claims = sql`(
    (select count(*) from (select from job_attempts a
      where a.job_type = t.job_type and a.finished_at > t.since and a.started_at > t.since
      limit ${ATTEMPTS_COUNTED_MAX}) ended)
    + (select count(*) from running r
      where r.job_type = t.job_type and r.attempt_started_at > t.since))`;
  // due_type: the order makes it an index descent a type; without one a scan may look cheaper.
  // shared: an answered probe allows one full batch, the next probe where the type is still.
  const [, rows] = await db.batch<[unknown[], WakeupRow[]]>([
    sql`/* take-vanished: wait */ ${firstTryEnded(takeId)}`,
    sql`/* take-vanished */
with recursive ${takenBefore(takeId)},
${waitingTypes(sql`next_trigger_at is not null`)},
${openTypes(unpublishedTypes)},
${running},
due_type as (
  select t.job_type from open_type t cross join lateral (
    select j.id from jobs j
    where j.job_type = t.job_type and ${overdue} and j.next_trigger_at <= now()
    order by j.next_trigger_at limit 1) first
  where ${isFirstTry}),
shared as (
  insert into type_state as t (job_type, swept_at, previous_sweep_at)
  select job_type, now(), now() from due_type order by job_type
  on conflict (job_type) do update set
    previous_sweep_at = coalesce(t.swept_at, now()), swept_at = now(),
    answered = ${answered},
    probes = case when ${answered} then (not ${isMoving(sql`t.job_type`)})::int else t.probes end,
    probed_at = case when ${answered} then now() else t.probed_at end,
    next_probe_at = case when ${answered} then now() + interval '1 minute' else t.next_probe_at end
  returning t.job_type, t.previous_sweep_at as since, t.answered),
allowed as (
  select t.job_type, case when t.answered then ${limit}::bigint
    when ${isMoving(sql`t.job_type`)} then 10 + ${claims} / 10
    else 0 end as messages
  from shared t),
candidate as (
  select c.id from allowed t cross join lateral (
    select j.id, j.next_trigger_at from jobs j
    where j.job_type = t.job_type and ${overdue} and j.next_trigger_at <= now()
    order by j.next_trigger_at limit least(t.messages, ${limit}::int)) c
  order by c.next_trigger_at limit ${limit}::int),
held as (
  select j.id from jobs j join candidate using (id)
  where j.next_trigger_at <= now() and j.triggered_at is not null
  for update of j skip locked),
marked as (
  update jobs j set
    trigger_seq = j.trigger_seq + 1, triggered_at = now(), take_id = ${takeId}::uuid,
    updated_at = now(), next_trigger_at = case when j.next_run_at is not null then ${nextLook} end
  from held where j.id = held.id
  returning j.*),
noted as (
  insert into job_events (job_id, action_id, at, kind, data)
  select id, gen_random_uuid(), now(), 'published',
    jsonb_build_object('seq', trigger_seq, 'why', 'vanished')
  from marked)
select ${wakeupColumns(sql`j`)}
from (select * from marked union all select * from again) j order by j.next_run_at`,
  ]);
  return rows.map(toWakeup);
}
