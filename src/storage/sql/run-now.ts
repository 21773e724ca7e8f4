import { sql } from "drizzle-orm";
import type { OperatorAction, RunNowOutcome } from "../../core/operations.js";
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

/**
 * Makes a job due now that waits for a later time, with a new message.
 *
 * Guard:  waiting for a later time, once the row's lock is held. The times are set by `case`, since a
 *         row that waits only in its newest version must not break a CHECK in its older one.
 * Repeat: finds its own action in the events and answers as the first time.
 * Locks:  one row of jobs, waited for.
 */
export async function runNow(
  db: Database,
  jobId: string,
  { actionId, actor, reason }: OperatorAction,
  options: { unpublishedTypes: string[] },
): Promise<RunNowOutcome> {
  const [row] = await db.run<WakeupRow & { ok: boolean; published: boolean; job: unknown }>(
    sql`/* run-now */
with present as (
  select * from jobs j where j.id = ${jobId}::uuid and ${visibleTo(actor, sql`j`)} for update),
${repeatedAction(jobId, actionId)},
changed as (
  update jobs j set
    next_run_at = case when j.next_run_at is not null then now() end,
    next_trigger_at = case when j.next_run_at is not null then now() + ${wakeupGrace} end,
    trigger_seq = j.trigger_seq + 1,
    triggered_at = case when ${isNoneOf(sql`j.job_type`, options.unpublishedTypes)}
      and not ${isPaused(sql`j.job_type`)} then now() end,
    last_action_id = ${actionId}::uuid, updated_at = now()
  from present
  where j.id = present.id and present.next_run_at > now() and not exists (select from repeated)
  returning j.*),
noted as (
  insert into job_events (job_id, action_id, at, kind, data)
  select id, ${actionId}::uuid, now(), 'run_now',
    jsonb_build_object('by', ${actor.keyName}::text, 'reason', ${reason}::text)
  from changed)
select exists (select from changed) or exists (select from repeated) as ok,
  j.next_run_at is not null and j.triggered_at is not null as published,
  ${wakeupColumns(sql`j`)}, ${jobJson(sql`j`)} as job
from (select * from changed union all
  select * from present where not exists (select from changed)) j`,
  );
  if (!row) return { kind: "not_found" };
  const job = toJob(row.job);
  if (!row.ok) return { kind: "not_waiting", job };
  return { kind: "moved", job, wakeup: row.published ? toWakeup(row) : null };
}
