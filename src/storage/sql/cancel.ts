import { sql } from "drizzle-orm";
import type { CancelOutcome, OperatorAction } from "../../core/operations.js";
import type { Database } from "../client.js";
import { jobJson, repeatedAction, visibleTo } from "../fragments.js";
import { toJob } from "../rows.js";

/**
 * Cancels a waiting job at once, or asks a processing one to stop.
 *
 * Guard:  the state that the row has once its lock is held; a terminal job stays as it is (I10).
 * Repeat: finds its own action in the events and answers as the first time.
 * Locks:  one row of jobs, waited for.
 */
export async function cancel(
  db: Database,
  jobId: string,
  { actionId, actor, reason }: OperatorAction,
): Promise<CancelOutcome> {
  const [row] = await db.run<{ ok: boolean; processing: boolean; job: unknown }>(sql`/* cancel */
with present as (
  select * from jobs j where j.id = ${jobId}::uuid and ${visibleTo(actor, sql`j`)} for update),
${repeatedAction(jobId, actionId)},
changed as (
  update jobs j set
    status = case when j.status = 'processing' then 'processing' else 'cancelled' end,
    next_run_at = null, next_trigger_at = null,
    finished_at = case when j.status = 'processing' then null else coalesce(j.finished_at, now()) end,
    result_json = null, result_omitted = null,
    cancel_requested_at = coalesce(j.cancel_requested_at, now()),
    last_action_id = ${actionId}::uuid, updated_at = now()
  from present
  where j.id = present.id and present.status in ('queued', 'failed', 'processing')
    and not exists (select from repeated)
  returning j.*),
noted as (
  insert into job_events (job_id, action_id, at, kind, data)
  select id, ${actionId}::uuid, now(),
    case when status = 'processing' then 'cancel_requested' else 'cancelled' end,
    jsonb_build_object('by', ${actor.keyName}::text, 'reason', ${reason}::text)
  from changed)
select exists (select from changed) or exists (select from repeated) as ok,
  j.status = 'processing' as processing, ${jobJson(sql`j`)} as job
from (select * from changed union all
  select * from present where not exists (select from changed)) j`);
  if (!row) return { kind: "not_found" };
  const job = toJob(row.job);
  if (!row.ok) return { kind: "not_cancellable", job };
  return { kind: row.processing ? "requested" : "cancelled", job };
}
