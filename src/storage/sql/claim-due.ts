import { sql } from "drizzle-orm";
import type { ClaimedAttempt } from "../../core/attempt.js";
import type { Json } from "../../core/job.js";
import type { SweepType } from "../../core/sweep.js";
import type { Database } from "../client.js";
import { budgetUsed, isPaused } from "../fragments.js";

/**
 * Takes one due job of the given types without a delivery, for a sweep or a worker.
 *
 * Order:  types as given; in a type highest priority first, then longest due.
 * Guard:  due and not paused once the row's lock is held.
 * Locks:  skips rows that are locked at this moment.
 * Repeat: finds its own token; one that outlived its own lease takes nothing, since one token never
 *         stands for two attempts of a job.
 */
export async function claimDue(
  db: Database,
  types: SweepType[],
  lockToken: string,
): Promise<ClaimedAttempt | null> {
  const wanted = JSON.stringify(types.map(({ type, leaseSeconds }) => ({ type, leaseSeconds })));
  const [row] = await db.run<ClaimedRow>(sql`/* claim-due */
with mine as (select id from jobs where lock_token = ${lockToken}::uuid),
wanted as (
  select type, "leaseSeconds" as lease_seconds, position
  from rows from (jsonb_to_recordset(${wanted}::jsonb) as (type text, "leaseSeconds" int))
    with ordinality as w(type, "leaseSeconds", position)),
chosen as (
  select first.id, first.next_run_at, w.lease_seconds
  from (select * from wanted order by position offset 0) w
  cross join lateral (
    select due.* from generate_series(9, 0, -1) as level(priority)
    cross join lateral (
      select id, next_run_at from jobs
      where job_type = w.type and priority = level.priority and next_run_at <= now()
        and not ${isPaused(sql`w.type`)}
      order by next_run_at limit 1 for update skip locked) due
    limit 1) first
  where not exists (select from mine)
  limit 1),
taken as (
  update jobs j set
    status = 'processing', attempts = j.attempts + 1, lock_token = ${lockToken}::uuid,
    lock_until = now() + make_interval(secs => chosen.lease_seconds), claimed_by_message = null,
    started_at = coalesce(j.started_at, now()), attempt_started_at = now(), finished_at = null,
    next_run_at = null, next_trigger_at = null, updated_at = now()
  from chosen where j.id = chosen.id
    and not exists (select from job_attempts a
      where a.job_id = j.id and a.lock_token = ${lockToken}::uuid)
  returning j.*, chosen.next_run_at as was_due_at)
select j.id, j.tenant, j.job_type, j.payload_json, j.attempts, ${budgetUsed(sql`j`)} as budget_used,
  j.max_attempts, j.trigger_seq, extract(epoch from j.lock_until - now())::float8 as lease_seconds,
  j.cancel_requested_at is not null as cancel_requested,
  extract(epoch from now() - j.was_due_at)::float8 as waited_seconds, j.traceparent
from (
  select * from taken
  union all
  select j.*, null from jobs j join mine using (id)) j`);
  if (!row) return null;
  return {
    jobId: row.id,
    tenant: row.tenant,
    type: row.job_type,
    payload: row.payload_json,
    lockToken,
    attempt: row.attempts,
    budgetUsed: row.budget_used,
    maxAttempts: row.max_attempts,
    triggerSeq: row.trigger_seq,
    leaseSeconds: row.lease_seconds,
    cancelRequested: row.cancel_requested,
    waitedSeconds: row.waited_seconds,
    traceparent: row.traceparent,
  };
}

interface ClaimedRow {
  id: string;
  tenant: string;
  job_type: string;
  payload_json: Json;
  attempts: number;
  budget_used: number;
  max_attempts: number;
  trigger_seq: number;
  lease_seconds: number;
  cancel_requested: boolean;
  waited_seconds: number | null;
  traceparent: string | null;
}
