import { type SQL, sql } from "drizzle-orm";
import type { OperatorAction } from "../../core/operations.js";
import type {
  Schedule,
  ScheduleChange,
  ScheduleChangeOutcome,
  ScheduleRef,
} from "../../core/schedule.js";
import type { Database } from "../client.js";
import { lastRunAt, planFromNow, scheduleIdOf, scheduleJson } from "../schedule-rows.js";

/**
 * Edits, pauses, resumes or deletes a schedule, and cancels the jobs that its former revisions left.
 *
 * Shape:  one batch. The jobs come in a statement of their own, with a snapshot that is newer than
 *         the lock on the schedule: a sweep that held it has committed jobs by then.
 * Guard:  not declared in code; a pause of what is paused, or a resume of what runs, changes nothing.
 * Repeat: finds its own action in the schedule; only a repeated delete finds nothing.
 * Locks:  the schedule's row, then its unstarted jobs in the order of their slots. Nothing else waits
 *         for anything while it holds a job, so this cannot be part of a deadlock.
 */
export async function changeSchedule(
  db: Database,
  ref: ScheduleRef,
  change: ScheduleChange,
  action: OperatorAction,
): Promise<ScheduleChangeOutcome> {
  const [, [cancelled], [row]] = await db.batch<
    [unknown[], { jobs: number }[], { schedule: Schedule }[]]
  >([
    reviseStatement(ref, change, action),
    cancelStatement(change, action),
    answerStatement(ref, change, action),
  ]);
  if (!row) return { kind: "not_found" };
  if (row.schedule.declared) return { kind: "declared" };
  return { kind: "changed", schedule: row.schedule, jobsCancelled: cancelled?.jobs ?? 0 };
}

function reviseStatement(ref: ScheduleRef, change: ScheduleChange, action: OperatorAction): SQL {
  return sql`/* change-schedule: revise */
update schedules s set
  ${changedColumns(change)}
  revision = s.revision + 1, plan_from = ${planFromNow}, planned_slots = '{}',
  last_run_at = ${lastRunAt(sql`s`)}, last_action_id = ${action.actionId}::uuid, updated_at = now()
where s.id = ${scheduleIdOf(ref, action.actor)} and not s.declared
  and s.last_action_id <> ${action.actionId}::uuid and ${isChangedBy(change)}`;
}

function changedColumns(change: ScheduleChange): SQL {
  if (change.kind === "delete") return sql`enabled = false,`;
  if (change.kind === "enable") return sql`enabled = ${change.enabled}::boolean,`;
  const { cron, timeZone, type, payload, missedRunPolicy } = change.recurrence;
  return sql`cron = ${cron}, time_zone = ${timeZone}, job_type = ${type},
    payload_json = ${JSON.stringify(payload)}::jsonb, missed_run_policy = ${missedRunPolicy},
    enabled = coalesce(${change.enabled}::boolean, s.enabled),`;
}

const isChangedBy = (change: ScheduleChange): SQL =>
  change.kind === "enable" ? sql`s.enabled <> ${change.enabled}::boolean` : sql`true`;

function cancelStatement(change: ScheduleChange, { actionId, actor, reason }: OperatorAction): SQL {
  const why = reason ?? `schedule ${change.kind === "delete" ? "deleted" : "changed"}`;
  return sql`/* change-schedule: cancel */
with unstarted as (
  select j.id from jobs j join schedules s on s.id = j.schedule_id
  where s.last_action_id = ${actionId}::uuid and j.schedule_revision < s.revision
    and j.status = 'queued' and j.attempts = 0
  order by j.slot_at, j.id for update of j),
cancelled as (
  update jobs j set status = 'cancelled', next_run_at = null, next_trigger_at = null,
    finished_at = now(), cancel_requested_at = now(), updated_at = now()
  from unstarted where j.id = unstarted.id
  returning j.id),
noted as (
  insert into job_events (job_id, action_id, at, kind, data)
  select id, ${actionId}::uuid, now(), 'cancelled',
    jsonb_build_object('by', ${actor.keyName}::text, 'reason', ${why}::text)
  from cancelled)
select count(*)::int as jobs from cancelled`;
}

function answerStatement(ref: ScheduleRef, change: ScheduleChange, action: OperatorAction): SQL {
  const id = scheduleIdOf(ref, action.actor);
  if (change.kind !== "delete") {
    return sql`/* change-schedule: answer */
select ${scheduleJson(sql`s`)} as schedule from schedules s where s.id = ${id}`;
  }
  return sql`/* change-schedule: remove */
with removed as (
  delete from schedules where id = ${id} and last_action_id = ${action.actionId}::uuid)
select ${scheduleJson(sql`s`)} as schedule from schedules s where s.id = ${id}`;
}
