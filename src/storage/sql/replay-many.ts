import { type SQL, sql } from "drizzle-orm";
import type { Actor, BulkReplay, OperatorAction, ReplayFilter } from "../../core/operations.js";
import type { Database } from "../client.js";
import { isNoneOf, isPaused, visibleTo, wakeupColumns, wakeupGrace } from "../fragments.js";
import { toWakeup, type WakeupRow } from "../rows.js";

/** Dead letters that a filter matches. */
const matches = (filter: ReplayFilter, actor: Actor): SQL => sql`
  j.status = 'dead_letter' and ${visibleTo(actor, sql`j`)}
  and (${filter.type ?? null}::text is null or j.job_type = ${filter.type ?? null}::text)
  and (${filter.errorCode ?? null}::text is null or j.last_error ->> 'code' = ${filter.errorCode ?? null}::text)
  and (${filter.createdAfter ?? null}::timestamptz is null or j.created_at >= ${filter.createdAfter ?? null}::timestamptz)
  and (${filter.createdBefore ?? null}::timestamptz is null or j.created_at < ${filter.createdBefore ?? null}::timestamptz)`;

const slotIsFree = sql`not exists (select from jobs a
  where a.tenant = j.tenant and a.job_type = j.job_type and a.dedupe_slot = j.dedupe_key)`;

/** Of several dead letters with one dedupe key, only the newest can take the slot. */
const nthOfKey = sql`row_number() over (
  partition by tenant, job_type, dedupe_key order by created_at desc, id desc)`;

/**
 * Replays many dead letters, spread over a time; a repeat finds its own events and adds nothing.
 *
 * Guard:  still a dead letter once its lock is held, and a free dedupe slot.
 * Locks:  rows that are locked at this moment are skipped; slots in the order (tenant, type, key).
 * Shape:  the first `publishMax` due jobs are marked as published; the sweep publishes the rest.
 */
export async function replayMany(
  db: Database,
  filter: ReplayFilter,
  action: OperatorAction,
  options: { publishMax: number; unpublishedTypes: string[] },
): Promise<BulkReplay> {
  const rows = await db.run<BulkRow>(statement(filter, action, options));
  const [first] = rows;
  if (!first) throw new Error("the replay-many statement gives at least one row");
  return {
    matched: first.matched,
    replayed: first.replayed,
    skipped: first.matched - first.replayed,
    wakeups: rows.filter((row) => row.job_id !== null && row.published).map(toWakeup),
  };
}

type BulkRow = WakeupRow & { matched: number; replayed: number; published: boolean };

function statement(
  filter: ReplayFilter,
  { actionId, actor, reason }: OperatorAction,
  options: { publishMax: number; unpublishedTypes: string[] },
): SQL {
  return sql`/* replay-many */
with repeated as (select job_id from job_events where action_id = ${actionId}::uuid and kind = 'replayed'),
matched as (
  select j.id from jobs j where ${matches(filter, actor)} and not exists (select from repeated)
  order by j.created_at, j.id limit ${filter.limit}::int),
free as (
  select j.id, j.tenant, j.job_type, j.dedupe_key, j.created_at, j.last_error
  from jobs j join matched using (id)
  where j.status = 'dead_letter' and ${slotIsFree}
  order by j.id for update of j skip locked),
newest as (
  select * from (select *, ${nthOfKey} as nth from free) numbered
  where dedupe_key is null or nth = 1),
planned as materialized (
  select id, last_error, row_number() over (order by created_at, id) - 1 as place,
    count(*) over () as total
  from newest order by tenant, job_type, dedupe_key),
changed as (
  update jobs j set
    status = 'queued', attempts_before_replay = j.attempts, snoozes = 0,
    next_run_at = now() + make_interval(secs => ${filter.spreadSeconds}::float8 * place / total),
    next_trigger_at = now() + make_interval(secs => ${filter.spreadSeconds}::float8 * place / total) + ${wakeupGrace},
    trigger_seq = j.trigger_seq + 1,
    triggered_at = case when place < ${options.publishMax}::int
      and ${isNoneOf(sql`j.job_type`, options.unpublishedTypes)}
      and not ${isPaused(sql`j.job_type`)} then now() end,
    lock_token = null, lock_until = null, cancel_requested_at = null, finished_at = null,
    result_json = null, result_omitted = null, updated_at = now()
  from planned where j.id = planned.id
  returning j.*),
noted as (
  insert into job_events (job_id, action_id, at, kind, data)
  select c.id, ${actionId}::uuid, now(), 'replayed',
    jsonb_build_object('by', ${actor.keyName}::text, 'reason', ${reason}::text,
      'was', 'dead_letter', 'error', p.last_error, 'bulk', true)
  from changed c join planned p using (id)),
again as (
  select j.* from jobs j join repeated on repeated.job_id = j.id
  where j.status = 'queued' and not exists (select from changed))
select totals.*, w.* from (
  select (select count(*) from matched)::int + (select count(*) from repeated)::int as matched,
    (select count(*) from changed)::int + (select count(*) from repeated)::int as replayed) totals
left join lateral (
  select ${wakeupColumns(sql`j`)}, j.triggered_at is not null as published
  from (select * from changed union all select * from again) j
  where j.triggered_at is not null
  order by j.next_run_at limit ${options.publishMax}::int) w on true`;
}

/** Counts what a bulk replay would do, without doing it. */
export async function countReplayable(
  db: Database,
  filter: ReplayFilter,
  actor: Actor,
): Promise<{ matched: number; skipped: number }> {
  const [row] = await db.run<{ matched: number; skipped: number }>(sql`/* count-replayable */
with matched as (
  select j.id, j.tenant, j.job_type, j.dedupe_key, j.created_at, ${slotIsFree} as free
  from jobs j where ${matches(filter, actor)}
  order by j.created_at, j.id limit ${filter.limit}::int),
numbered as (select *, ${nthOfKey} as nth from matched)
select count(*)::int as matched,
  (count(*) filter (where dedupe_key is not null and (not free or nth > 1)))::int as skipped
from numbered`);
  return row ?? { matched: 0, skipped: 0 };
}
