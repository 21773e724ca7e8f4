/** Pieces of SQL that several statements share, so that each rule is written once. */

import { type SQL, sql } from "drizzle-orm";

/** An instant as RFC 3339 UTC with milliseconds, whatever the session's time zone. */
export const instantText = (expression: SQL): SQL =>
  sql`to_char(${expression} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Attempts of the present budget that count, from a row's own columns. */
export const budgetUsed = (alias: SQL): SQL =>
  sql`(${alias}.attempts - ${alias}.snoozes - ${alias}.attempts_before_replay)`;

/** How long after its due time a sweep looks whether a published job is still waiting (I9). */
export const wakeupGrace: SQL = sql`interval '10 minutes'`;

/** True while an operator holds back the type. */
export const isPaused = (type: SQL): SQL =>
  sql`exists (select from type_state ts where ts.job_type = ${type} and ts.paused_at is not null)`;

/** A stored error; text was cleaned and cut by the engine. */
export const errorJson = (code: SQL, message: SQL, retryable: SQL): SQL =>
  sql`jsonb_build_object('code', ${code}, 'message', ${message}, 'retryable', ${retryable}, 'at', ${instantText(sql`now()`)})`;

/** The error of an attempt whose lease ran out: its process died, or could not report. */
export const LEASE_EXPIRED_MESSAGE = "the attempt did not report back before its lease ended";

/**
 * A CTE `lost` that writes the history row of attempts whose lease somebody else takes.
 *
 * Shape: `source` is a from clause over rows as they were before the change.
 */
export const lostAttempt = (source: SQL): SQL => sql`lost as (
  insert into job_attempts (job_id, lock_token, number, job_type, started_at, finished_at,
    outcome, error_code, error_message)
  select id, lock_token, attempts, job_type, attempt_started_at, now(),
    'lease_expired', 'lease_expired', ${LEASE_EXPIRED_MESSAGE}
  from ${source}
  on conflict do nothing)`;

/** Counters of one minute are spread over this many rows, so that deliveries rarely wait. */
export const statShard: SQL = sql`floor(random() * 8)::int`;

/** What a wake-up message needs, from a row that waits; read by `toWakeup`. */
export const wakeupColumns = (alias: SQL): SQL => sql`
  ${alias}.id as job_id, ${alias}.job_type, ${alias}.attempts, ${alias}.trigger_seq,
  extract(epoch from ${alias}.next_run_at - now())::float8 as due_in_seconds,
  extract(epoch from ${alias}.next_run_at)::float8 as due_at_epoch_seconds,
  ${alias}.traceparent`;

/** Where a job and its message stand, with the member names of `JobTrace`. */
export const traceColumns = (alias: SQL): SQL => sql`
  ${alias}.id as "jobId", ${alias}.job_type as "type", ${alias}.status, ${alias}.trigger_seq as "seq",
  extract(epoch from ${alias}.triggered_at)::float8 * 1000 as "triggeredAtMs"`;

/** A whole job as one JSON object with the member names of the API; read by `toJob`. */
export const jobJson = (alias: SQL): SQL => sql`jsonb_build_object(
  'id', ${alias}.id, 'tenant', ${alias}.tenant, 'type', ${alias}.job_type,
  'status', ${alias}.status, 'priority', ${alias}.priority,
  'payload', ${alias}.payload_json, 'result', ${alias}.result_json,
  'resultOmitted', ${alias}.result_omitted, 'progress', ${alias}.progress_json,
  'attempts', ${alias}.attempts,
  'attemptsLeft', ${alias}.max_attempts - ${budgetUsed(alias)}, 'maxAttempts', ${alias}.max_attempts,
  'dedupeKey', ${alias}.dedupe_key, 'lastError', ${alias}.last_error,
  'cancelRequested', ${alias}.cancel_requested_at is not null,
  'nextRunAt', ${instantText(sql`${alias}.next_run_at`)},
  'lockedUntil', ${instantText(sql`${alias}.lock_until`)},
  'startedAt', ${instantText(sql`${alias}.started_at`)},
  'finishedAt', ${instantText(sql`${alias}.finished_at`)},
  'createdAt', ${instantText(sql`${alias}.created_at`)},
  'updatedAt', ${instantText(sql`${alias}.updated_at`)})`;

/** True where `expression` is none of the values; JSON, since templates have no array parameters. */
export const isNoneOf = (expression: SQL, values: readonly string[]): SQL =>
  sql`not (${JSON.stringify(values)}::jsonb ? ${expression})`;

/** The rows that an actor may see and touch; an admin's tenant is null. */
export const visibleTo = (actor: { tenant: string | null }, alias: SQL): SQL =>
  sql`(${actor.tenant}::text is null or ${alias}.tenant = ${actor.tenant}::text)`;

/**
 * A CTE `repeated` with a row when this very action was carried out before.
 *
 * Shape: needs a CTE `present` that locks the job's row. The row tells of the latest action even
 *        when it was committed after this statement began, and the events of any earlier one.
 */
export const repeatedAction = (jobId: string, actionId: string): SQL => sql`repeated as (
  select 1 from present where last_action_id = ${actionId}::uuid
  union all
  select 1 from job_events where job_id = ${jobId}::uuid and action_id = ${actionId}::uuid)`;
