import { sql } from "drizzle-orm";
import type { Json } from "../../core/job.js";
import type { OperatorAction, ReplayOutcome } from "../../core/operations.js";
import type { Database } from "../client.js";
import {
  isNoneOf,
  isPaused,
  jobJson,
  repeatedAction,
  visibleTo,
  wakeupColumns,
  wakeupGrace,
} from "../fragments.js";
import { toJob, toWakeup, type WakeupRow } from "../rows.js";

type ReplayRow = WakeupRow & {
  answer: "replayed" | "not_replayable" | "dedupe_conflict";
  active_job_id: string | null;
  published: boolean;
  job: unknown;
};

/**
 * Starts a dead letter or cancelled job anew with a fresh budget; history and effects stay.
 *
 * Guard:  the state that the row has once its lock is held, and the free dedupe slot (I7).
 * Repeat: finds its own action in the events and answers as the first time.
 * Errors: a rival that takes the slot in the same moment is a unique violation; the repeat sees it.
 * Locks:  one row of jobs, waited for, and one dedupe slot.
 */
export async function replay(
  db: Database,
  jobId: string,
  action: OperatorAction,
  options: { payload?: Json; unpublishedTypes: string[] },
): Promise<ReplayOutcome> {
  const rows = await db.run<ReplayRow>(statement(jobId, action, options));
  const [row] = rows;
  if (!row) return { kind: "not_found" };
  const job = toJob(row.job);
  if (row.answer === "not_replayable") return { kind: "not_replayable", job };
  if (row.answer === "dedupe_conflict") {
    return { kind: "dedupe_conflict", activeJobId: row.active_job_id ?? "" };
  }
  return { kind: "replayed", job, wakeup: row.published ? toWakeup(row) : null };
}

function statement(
  jobId: string,
  { actionId, actor, reason }: OperatorAction,
  options: { payload?: Json; unpublishedTypes: string[] },
) {
  const payload = options.payload === undefined ? null : JSON.stringify(options.payload);
  return sql`/* replay */
with present as (
  select * from jobs j where j.id = ${jobId}::uuid and ${visibleTo(actor, sql`j`)} for update),
${repeatedAction(jobId, actionId)},
active as (
  select a.id from present p join jobs a
    on a.tenant = p.tenant and a.job_type = p.job_type and a.dedupe_slot = p.dedupe_key
  where a.id <> p.id),
changed as (
  update jobs j set
    status = 'queued', attempts_before_replay = j.attempts, snoozes = 0,
    next_run_at = now(), next_trigger_at = now() + ${wakeupGrace},
    trigger_seq = j.trigger_seq + 1,
    triggered_at = case when ${isNoneOf(sql`j.job_type`, options.unpublishedTypes)}
      and not ${isPaused(sql`j.job_type`)} then now() end,
    lock_token = null, lock_until = null, cancel_requested_at = null, finished_at = null,
    result_json = null, result_omitted = null,
    payload_json = coalesce(${payload}::jsonb, j.payload_json),
    last_action_id = ${actionId}::uuid, updated_at = now()
  from present
  where j.id = present.id and present.status in ('dead_letter', 'cancelled')
    and not exists (select from active) and not exists (select from repeated)
  returning j.*),
noted as (
  insert into job_events (job_id, action_id, at, kind, data)
  select c.id, ${actionId}::uuid, now(), 'replayed',
    jsonb_build_object('by', ${actor.keyName}::text, 'reason', ${reason}::text,
      'was', p.status, 'error', p.last_error, 'payloadChanged', ${payload !== null}::boolean)
  from changed c join present p using (id))
select case
    when exists (select from changed) or exists (select from repeated) then 'replayed'
    when j.status not in ('dead_letter', 'cancelled') then 'not_replayable'
    else 'dedupe_conflict' end as answer,
  (select id from active limit 1) as active_job_id,
  j.next_run_at is not null and j.triggered_at is not null as published,
  ${wakeupColumns(sql`j`)}, ${jobJson(sql`j`)} as job
from (select * from changed union all
  select * from present where not exists (select from changed)) j`;
}
