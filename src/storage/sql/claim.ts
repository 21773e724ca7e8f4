import { type SQL, sql } from "drizzle-orm";
import type { ClaimedAttempt, ClaimOutcome, ClaimRequest } from "../../core/attempt.js";
import type { Json } from "../../core/job.js";
import type { Database } from "../client.js";
import {
  budgetUsed,
  errorJson,
  isPaused,
  LEASE_EXPIRED_MESSAGE,
  lostAttempt,
  statShard,
  wakeupColumns,
} from "../fragments.js";
import { toWakeup, type WakeupRow } from "../rows.js";

/** Lease of a type that this deployment does not know; it is put back at once. */
const UNKNOWN_TYPE_LEASE_SECONDS = 60;

/** Due, or processing with a lease that ran out. */
const runnable = sql`(next_run_at <= now() or lock_until <= now())`;

/** What the locking reads hand on: the row as it is now, before this statement changes it. */
const held = sql`id, status, job_type, lock_token, lock_until, attempts, attempt_started_at, next_run_at`;

/** What a claim makes of a row, from its own columns only: an expired lease may also end its job. */
const becomes = sql`(case
  when j.cancel_requested_at is not null then 'cancelled'
  when ${budgetUsed(sql`j`)} >= j.max_attempts then 'dead_letter'
  else 'processing' end)`;

/** The longest due job of the type, one priority after the other, each by one index descent. */
const firstDue = (highest: SQL, lowest: SQL, columns: SQL, lock: SQL): SQL => sql`
  select due.* from generate_series(${highest}, ${lowest}, -1) as level(priority)
  cross join lateral (
    select ${columns} from jobs
    where job_type = (select job_type from request) and priority = level.priority
      and next_run_at <= now()
    order by next_run_at limit 1 ${lock}) due`;

/**
 * Decides what a delivery may run, takes it, and writes down everything that this decision changes.
 *
 * Order:  the own repeated claim; pause; the job that this message claimed before; the named job's
 *         time; then a permit: a due job of higher priority, the named one, the longest due one.
 * Guard:  the lock token is unique, and only due or expired rows are taken.
 * Locks:  at most one row lock is waited for, first (`own`); everything after it skips locked rows.
 * Repeat: finds its own token and answers as the first time, without counting an attempt.
 */
export async function claim(db: Database, request: ClaimRequest): Promise<ClaimOutcome> {
  const [row] = await db.run<ClaimRow>(statement(request));
  if (!row) throw new Error("the claim statement gives exactly one row");
  return toOutcome(row);
}

function statement(request: ClaimRequest): SQL {
  return sql`/* claim */
with request as (
  select ${request.jobId}::uuid as job_id, ${request.type}::text as job_type,
    ${request.seq}::int as seq, ${request.lockToken}::uuid as lock_token,
    ${request.messageId}::text as message_id, ${request.unknownIsPermit}::boolean as unknown_is_permit),
mine as (select id from jobs where lock_token = (select lock_token from request)),
paused as (
  select 1 where ${isPaused(sql`(select job_type from request)`)} and not exists (select from mine)),
gate as (select 1 where not exists (select from mine) and not exists (select from paused)),
own as materialized (
  select ${held} from jobs
  where claimed_by_message = (select message_id from request) and exists (select from gate)
  order by attempt_started_at desc limit 1 for update),
named as materialized (
  select id, status, job_type, priority, attempts, next_run_at, trigger_seq, traceparent,
    ${runnable} is true as runnable
  from jobs where id = (select job_id from request)),
later as (
  select 1 from named, request
  where named.next_run_at > now() and request.seq >= named.trigger_seq),
permit as (
  select 1 from gate, request
  where not exists (select from own) and not exists (select from later)
    and (request.unknown_is_permit or exists (select from named))),
${choice()},
${taking(request)},
${bookkeeping()}
${answerRow()}`;
}

/** Nothing for a first try that arrives after its attempt has ended: one token, one attempt. */
function choice(): SQL {
  const lock = sql`for update skip locked`;
  return sql`
higher as (
  ${firstDue(sql`9`, sql`(select priority + 1 from named)`, held, lock)}
  where exists (select from permit) and exists (select from named where runnable)
  limit 1),
named_free as (
  select ${held} from jobs
  where id = (select id from named where runnable) and ${runnable}
    and exists (select from permit) and not exists (select from higher)
  ${lock}),
longest_due as (
  ${firstDue(sql`9`, sql`0`, held, lock)}
  where exists (select from permit)
    and not exists (select from higher) and not exists (select from named_free)
  limit 1),
candidate as (
  select * from own where status = 'processing' and lock_until <= now()
  union all select * from higher
  union all select * from named_free
  union all select * from longest_due),
chosen as (
  select c.* from candidate c where not exists (
    select from job_attempts a
    where a.job_id = c.id and a.lock_token = (select lock_token from request)))`;
}

function taking(request: ClaimRequest): SQL {
  const leases = JSON.stringify(request.leases);
  return sql`
taken as (
  update jobs j set
    status = ${becomes},
    attempts = j.attempts + (${becomes} = 'processing')::int,
    lock_token = case when ${becomes} = 'processing' then ${request.lockToken}::uuid end,
    lock_until = case when ${becomes} = 'processing' then now() + make_interval(
      secs => coalesce((${leases}::jsonb ->> j.job_type)::int, ${UNKNOWN_TYPE_LEASE_SECONDS})) end,
    claimed_by_message = ${request.messageId}::text,
    started_at = case when ${becomes} = 'processing' then coalesce(j.started_at, now()) else j.started_at end,
    attempt_started_at = case when ${becomes} = 'processing' then now() else j.attempt_started_at end,
    finished_at = case when ${becomes} <> 'processing' then now() end,
    last_error = case when j.lock_token is null then j.last_error
      else ${errorJson(sql`'lease_expired'`, sql`${LEASE_EXPIRED_MESSAGE}::text`, sql`${becomes} = 'processing'`)} end,
    next_run_at = null, next_trigger_at = null, updated_at = now()
  from chosen where j.id = chosen.id
  returning j.*),
${lostAttempt(sql`chosen where status = 'processing'`)}`;
}

/**
 * `unpublished` takes a new seq: this message is used up, and QStash would take its like for it.
 * A job that is being pruned gets no event, which would outlive it. `counted` reads `unpublished`, the
 * one update that may wait, to come after it, so that nobody waits for this counter meanwhile.
 */
function bookkeeping(): SQL {
  const anyDue = firstDue(sql`9`, sql`0`, sql`id`, sql``);
  return sql`
unpublished as (
  update jobs set triggered_at = null, updated_at = now(),
    trigger_seq = greatest(trigger_seq, (select seq from request)) + 1
  where id = (select job_id from request) and next_run_at is not null
    and exists (select from paused)
  returning id),
answer as (
  select case
      when exists (select from taken) or exists (select from mine) then 'ran'
      when exists (select from paused) then 'paused'
      when exists (select from own where status = 'processing') then 'running_own'
      when exists (select from own) then 'recorded'
      when exists (select from later) then 'not_due'
      when not exists (select from permit) then 'unknown'
      when exists (select from named where runnable) then 'locked_named'
      when exists (${anyDue}) then 'locked_other'
      when exists (select from named where status in ('completed', 'dead_letter', 'cancelled')) then 'finished'
      when exists (select from named where status = 'processing') then 'running'
      else 'nothing_due' end as kind),
present as (
  select 1 from jobs where id = (select id from named) for key share skip locked),
refused as (
  insert into job_events (job_id, action_id, at, kind, data)
  select named.id, gen_random_uuid(), now(), 'delivery_refused',
    jsonb_build_object('reason', case when answer.kind = 'ran' then 'displaced' else answer.kind end,
      'messageId', request.message_id, 'ranJobId', (select id from taken))
  from named, answer, request
  where answer.kind not in ('not_due', 'locked_named', 'locked_other')
    and not exists (select from mine)
    and not exists (select from taken where taken.id = named.id)
    and (exists (select from present) or exists (select from unpublished))),
counted as (
  insert into job_stats as s (minute, job_type, measure, label, shard, count)
  select date_trunc('minute', now()), request.job_type, 'delivery', answer.kind, ${statShard}, 1
  from answer, request where answer.kind not in ('ran', 'locked_named', 'locked_other')
    and (select count(*) from unpublished) >= 0
  on conflict (minute, job_type, measure, label, shard) do update set count = s.count + 1)`;
}

function answerRow(): SQL {
  const ran = (waited: SQL, repeated: SQL): SQL => sql`
    j.id, j.tenant, j.status, j.job_type as ran_type, j.payload_json, j.lock_token,
    j.attempts as attempt, ${budgetUsed(sql`j`)} as budget_used, j.max_attempts,
    j.trigger_seq as ran_seq, j.cancel_requested_at is not null as cancel_requested,
    extract(epoch from j.lock_until - now())::float8 as lease_seconds,
    j.traceparent as ran_traceparent, ${waited} as waited_seconds, ${repeated} as repeated`;
  const waited = sql`extract(epoch from now() - coalesce(chosen.next_run_at, chosen.lock_until))::float8`;
  return sql`
select answer.kind, ran.*, ${wakeupColumns(sql`named`)},
  extract(epoch from own.lock_until - now())::float8 as own_lease_seconds
from answer
left join (
  select ${ran(waited, sql`false`)} from taken j join chosen using (id)
  union all
  select ${ran(sql`null::float8`, sql`true`)} from jobs j join mine using (id)) ran on true
left join named on true
left join own on true`;
}

interface ClaimRow extends WakeupRow {
  kind:
    | "ran"
    | "paused"
    | "running_own"
    | "recorded"
    | "not_due"
    | "unknown"
    | "locked_named"
    | "locked_other"
    | "finished"
    | "running"
    | "nothing_due";
  id: string;
  tenant: string;
  status: "processing" | "dead_letter" | "cancelled";
  ran_type: string;
  payload_json: Json;
  lock_token: string;
  attempt: number;
  budget_used: number;
  max_attempts: number;
  ran_seq: number;
  cancel_requested: boolean;
  lease_seconds: number;
  ran_traceparent: string | null;
  waited_seconds: number | null;
  repeated: boolean;
  own_lease_seconds: number;
}

function toOutcome(row: ClaimRow): ClaimOutcome {
  switch (row.kind) {
    case "ran":
      return row.status === "processing"
        ? { kind: "claimed", attempt: toAttempt(row), repeated: row.repeated }
        : { kind: "ended", jobId: row.id, status: row.status };
    case "running_own":
      return { kind: "running_own", leaseSecondsLeft: row.own_lease_seconds };
    case "not_due":
      return { kind: "not_due", waitSeconds: row.due_in_seconds, wakeup: toWakeup(row) };
    case "locked_named":
    case "locked_other":
      return { kind: "locked", named: row.kind === "locked_named" };
    case "unknown":
      return { kind: "unknown" };
    default:
      return { kind: "noop", reason: row.kind };
  }
}

function toAttempt(row: ClaimRow): ClaimedAttempt {
  return {
    jobId: row.id,
    tenant: row.tenant,
    type: row.ran_type,
    payload: row.payload_json,
    lockToken: row.lock_token,
    attempt: row.attempt,
    budgetUsed: row.budget_used,
    maxAttempts: row.max_attempts,
    triggerSeq: row.ran_seq,
    leaseSeconds: row.lease_seconds,
    cancelRequested: row.cancel_requested,
    waitedSeconds: row.waited_seconds,
    traceparent: row.ran_traceparent,
  };
}
