import { type SQL, sql } from "drizzle-orm";
import type { AttemptReport, FinishOutcome, FinishRequest } from "../../core/attempt.js";
import { type JobStatus, SNOOZES_MAX, UNKNOWN_TYPE_ATTEMPTS_MAX } from "../../core/job.js";
import type { Database } from "../client.js";
import { budgetUsed, errorJson, isPaused, wakeupColumns, wakeupGrace } from "../fragments.js";
import { toWakeup, type WakeupRow } from "../rows.js";

/**
 * Records how an attempt ended, if its lock token still holds the job, with its history row.
 *
 * Guard:  the token alone. A lease that ran out but was taken by nobody is still its holder's.
 * Repeat: finds its own history row and gives the outcome recorded there.
 * Late:   a row written by whoever took the lease keeps the late outcome, and nothing else changes.
 * Locks:  one row of jobs, waited for.
 */
export async function finish(db: Database, request: FinishRequest): Promise<FinishOutcome> {
  const [row] = await db.run<FinishRow>(statement(request));
  if (!row) throw new Error("the finish statement gives exactly one row");
  if (row.answer === "gone") return { kind: "gone" };
  if (row.answer === "late") return { kind: "lease_lost" };
  const wakeup = row.published ? toWakeup(row) : null;
  return { kind: "recorded", status: row.status, wakeup };
}

/** Attempts of this budget that met no handler; the row's own number bounds the count. */
const unknownTypeAttempts = sql`(select count(*) from job_attempts a
  where a.job_id = j.id and a.error_code = 'unknown_job_type'
    and a.number > j.attempts_before_replay)`;

/**
 * The lock of `there` lets purging run before or after, never in between; unlike a key share it also
 * brings the newest row, which the first try of this very finish may have written in the meantime.
 */
function statement(request: FinishRequest): SQL {
  const { jobId } = request;
  return sql`/* finish */
with ${recordedJob(request)},
there as (
  select * from jobs
  where id = ${jobId}::uuid and not exists (select from recorded) for share),
${historyRow(request)}
select case when r.id is not null then 'recorded' when h.outcome is null then 'gone'
    when h.outcome = 'lease_expired' then 'late' else 'already' end as answer,
  coalesce(r.status, case h.outcome when 'snoozed' then 'queued' else h.outcome end) as status,
  j.next_run_at is not null and j.triggered_at is not null as published, ${wakeupColumns(sql`j`)}
from (select) one
left join recorded r on true left join history h on true
left join (select * from recorded union all select * from there) j on true`;
}

/** The attempt stopped as it was asked to, which is no error. */
const isCancel = (report: AttemptReport): SQL =>
  sql`${report.kind === "retry" && report.isCancel === true}::boolean`;

function recordedJob({ jobId, lockToken, report, publish }: FinishRequest): SQL {
  const kind = sql`${report.kind}::text`;
  const waitsAgain = sql`(case ${kind}
    when 'snooze' then j.snoozes < ${SNOOZES_MAX}
    when 'unknown_type' then ${unknownTypeAttempts} < ${UNKNOWN_TYPE_ATTEMPTS_MAX} - 1
    else false end)`;
  const becomes = sql`(case
    when ${kind} = 'completed' then 'completed'
    when j.cancel_requested_at is not null then 'cancelled'
    when ${waitsAgain} then 'queued'
    when ${kind} in ('snooze', 'unknown_type', 'fatal') then 'dead_letter'
    when ${budgetUsed(sql`j`)} >= j.max_attempts then 'dead_letter'
    else 'failed' end)`;
  const waits = sql`${becomes} in ('queued', 'failed')`;
  const error = errorOf(report);
  const due = sql`now() + make_interval(secs => ${delayOf(report)}::float8)`;
  return sql`recorded as (
  update jobs j set
    status = ${becomes},
    snoozes = j.snoozes + (${becomes} = 'queued')::int,
    next_run_at = case when ${waits} then ${due} end,
    next_trigger_at = case when ${waits} then ${due} + ${wakeupGrace} end,
    trigger_seq = j.trigger_seq + (${waits})::int,
    triggered_at = case when not ${waits} then j.triggered_at
      when ${publish}::boolean and not ${isPaused(sql`j.job_type`)} then now() end,
    lock_token = null, lock_until = null,
    finished_at = case when not ${waits} then now() end,
    result_json = ${resultOf(report)},
    result_omitted = ${report.kind === "completed" ? report.resultOmitted : null}::text,
    last_error = case when ${kind} = 'completed' or ${kind} = 'snooze' and ${becomes} <> 'dead_letter'
        or ${isCancel(report)} and ${becomes} = 'cancelled'
      then j.last_error
      else ${errorJson(sql`${error.code}::text`, sql`${error.message}::text`, sql`${waits}`)} end,
    updated_at = now()
  where j.id = ${jobId}::uuid and j.lock_token = ${lockToken}::uuid
  returning j.*)`;
}

function historyRow(request: FinishRequest): SQL {
  const { jobId, lockToken, attempt, report, waitedSeconds = null } = request;
  const kind = sql`${report.kind}::text`;
  const error = errorOf(report);
  const isFailure = sql`((${kind} <> 'snooze' or r.status = 'dead_letter')
    and not (${isCancel(report)} and r.status is not distinct from 'cancelled'))`;
  return sql`history as (
  insert into job_attempts as a (job_id, lock_token, number, job_type, started_at, finished_at,
    outcome, error_code, error_message, wait_seconds, late_at, late_outcome, late_detail)
  select ${jobId}::uuid, ${lockToken}::uuid, ${attempt}::int,
    coalesce(r.job_type, t.job_type), coalesce(r.attempt_started_at, now()), now(),
    case when r.id is null then 'lease_expired' when r.status = 'queued' then 'snoozed' else r.status end,
    case when ${isFailure} then ${error.code}::text end,
    case when ${isFailure} then ${error.message}::text end,
    ${waitedSeconds}::float8,
    case when r.id is null then now() end,
    case when r.id is null then ${kind} end,
    case when r.id is null then ${resultOf(report)} end
  from (select) one left join recorded r on true left join there t on true
  where r.id is not null or t.id is not null
  on conflict (job_id, lock_token) do update set
    late_at = case when a.outcome = 'lease_expired' then coalesce(a.late_at, excluded.late_at, now()) end,
    late_outcome = case when a.outcome = 'lease_expired' then coalesce(a.late_outcome, excluded.late_outcome, ${kind}) end,
    late_detail = case when a.outcome = 'lease_expired' then coalesce(a.late_detail, excluded.late_detail) end
  returning a.outcome)`;
}

interface FinishRow extends WakeupRow {
  answer: "recorded" | "already" | "late" | "gone";
  status: JobStatus;
  published: boolean;
}

function delayOf(report: AttemptReport): number {
  return "delaySeconds" in report ? report.delaySeconds : 0;
}

function errorOf(report: AttemptReport): { code: string | null; message: string | null } {
  switch (report.kind) {
    case "completed":
      return { code: null, message: null };
    case "snooze":
      // Written only where the limit turns the snooze into a dead letter.
      return { code: "snooze_limit", message: `snoozed more than ${SNOOZES_MAX} times` };
    case "unknown_type":
      return { code: "unknown_job_type", message: "no handler for this type in this deployment" };
    default:
      return { code: report.code, message: report.message };
  }
}

function resultOf(report: AttemptReport): SQL {
  const absent = report.kind !== "completed" || report.result === null;
  return sql`${absent ? null : JSON.stringify(report.result)}::jsonb`;
}
