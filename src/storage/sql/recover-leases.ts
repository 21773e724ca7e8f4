import { sql } from "drizzle-orm";
import type { RecoveredLeases, SweepType, Take } from "../../core/sweep.js";
import type { Database } from "../client.js";
import {
  budgetUsed,
  errorJson,
  isNoneOf,
  isPaused,
  LEASE_EXPIRED_MESSAGE,
  lostAttempt,
  wakeupColumns,
  wakeupGrace,
} from "../fragments.js";
import { toWakeup, type WakeupRow } from "../rows.js";
import { firstTryEnded, isFirstTry, takenBefore } from "../takes.js";

type RecoveredRow = WakeupRow & { status: string; published: boolean };

/** Waits of a type that this deployment does not know. */
const UNKNOWN_TYPE_BACKOFF = { delays: [30], jitterSeconds: 15 };

const becomes = sql`(case
  when j.cancel_requested_at is not null then 'cancelled'
  when ${budgetUsed(sql`j`)} >= j.max_attempts then 'dead_letter'
  else 'failed' end)`;

/**
 * Ends attempts whose lease ran out: a failed attempt, with backoff, or the end of the job.
 *
 * Guard:  the lease has run out once the row's lock is held; the holder's late finish finds nothing.
 * Locks:  skips rows that are locked at this moment; oldest first, `limit` of them.
 * Repeat: finds its own take and gives its messages again; it no longer counts the jobs that ended.
 */
export async function recoverLeases(
  db: Database,
  types: SweepType[],
  { takeId, unpublishedTypes, limit }: Take,
): Promise<RecoveredLeases> {
  const backoffs = JSON.stringify({
    "": UNKNOWN_TYPE_BACKOFF,
    ...Object.fromEntries(
      types.map(({ type, delays, jitterSeconds }) => [type, { delays, jitterSeconds }]),
    ),
  });
  // The last delay of the table serves every later failure, so that no row is without one.
  const backoff = sql`coalesce(${backoffs}::jsonb -> j.job_type, ${backoffs}::jsonb -> '')`;
  const delay = sql`(coalesce(
    ${backoff} -> 'delays' ->> (${budgetUsed(sql`j`)} - 1), ${backoff} -> 'delays' ->> -1)::float8
    + expired.luck * (${backoff} ->> 'jitterSeconds')::float8)`;
  const due = sql`now() + make_interval(secs => ${delay})`;
  const [, rows] = await db.batch<[unknown[], RecoveredRow[]]>([
    sql`/* recover-leases: wait */ ${firstTryEnded(takeId)}`,
    sql`/* recover-leases */
with ${takenBefore(takeId)},
expired as (
  select id, job_type, lock_token, attempts, attempt_started_at, random() as luck from jobs
  where lock_until <= now() and ${isFirstTry}
  order by lock_until limit ${limit}::int for update skip locked),
recovered as (
  update jobs j set
    status = ${becomes},
    lock_token = null, lock_until = null,
    finished_at = case when ${becomes} <> 'failed' then now() end,
    next_run_at = case when ${becomes} = 'failed' then ${due} end,
    next_trigger_at = case when ${becomes} = 'failed' then ${due} + ${wakeupGrace} end,
    trigger_seq = j.trigger_seq + (${becomes} = 'failed')::int,
    triggered_at = case when ${becomes} <> 'failed' then j.triggered_at
      when ${isNoneOf(sql`j.job_type`, unpublishedTypes)}
        and not ${isPaused(sql`j.job_type`)} then now() end,
    take_id = ${takeId}::uuid,
    result_json = null, result_omitted = null,
    last_error = ${errorJson(sql`'lease_expired'`, sql`${LEASE_EXPIRED_MESSAGE}::text`, sql`${becomes} = 'failed'`)},
    updated_at = now()
  from expired where j.id = expired.id
  returning j.*),
${lostAttempt(sql`expired`)}
select ${wakeupColumns(sql`j`)}, j.status, j.triggered_at is not null as published
from (select * from recovered union all select * from again) j order by j.next_run_at`,
  ]);
  const count = (status: string) => rows.filter((row) => row.status === status).length;
  return {
    failed: count("failed"),
    deadLettered: count("dead_letter"),
    cancelled: count("cancelled"),
    wakeups: rows.filter((row) => row.status === "failed" && row.published).map(toWakeup),
  };
}
