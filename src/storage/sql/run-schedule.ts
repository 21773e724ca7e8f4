import { sql } from "drizzle-orm";
import type { OperatorAction } from "../../core/operations.js";
import type { RunScheduleOutcome, ScheduledType, ScheduleRef } from "../../core/schedule.js";
import type { Database } from "../client.js";
import { isPaused, jobJson, wakeupColumns, wakeupGrace } from "../fragments.js";
import { toJob, toWakeup, type WakeupRow } from "../rows.js";
import { scheduledType, scheduleIdOf, typesByName } from "../schedule-rows.js";

type RunRow = WakeupRow & { type: string; known: boolean; published: boolean; job: unknown };

/**
 * Creates one job of a schedule, due now, whatever its slots and whether or not it is paused.
 *
 * Shape:  an ordinary job: it fills no slot, so that a change of the schedule does not cancel it.
 * Repeat: finds its own job by its id and gives it.
 * Locks:  the schedule's row, waited for.
 */
export async function runSchedule(
  db: Database,
  ref: ScheduleRef,
  jobId: string,
  scheduledTypes: ScheduledType[],
  { actor }: OperatorAction,
): Promise<RunScheduleOutcome> {
  const types = typesByName(scheduledTypes);
  const typeOf = scheduledType(types, sql`s.job_type`);
  const [row] = await db.run<RunRow>(sql`/* run-schedule */
with target as (
  update schedules s set last_run_at = case when ${typeOf} is null then s.last_run_at else now() end
  where s.id = ${scheduleIdOf(ref, actor)} returning s.*),
made as (
  insert into jobs (id, tenant, job_type, status, priority, max_attempts, payload_json,
    next_run_at, next_trigger_at, triggered_at, created_at, updated_at)
  select ${jobId}::uuid, s.tenant, s.job_type, 'queued', 0, (${typeOf} ->> 'maxAttempts')::int,
    s.payload_json, now(), now() + ${wakeupGrace},
    case when (${typeOf} ->> 'publish')::boolean and not ${isPaused(sql`s.job_type`)} then now() end,
    now(), now()
  from target s where ${typeOf} is not null
  on conflict (id) do nothing returning *)
select s.job_type as type, ${typeOf} is not null as known, j.triggered_at is not null as published,
  ${wakeupColumns(sql`j`)}, ${jobJson(sql`j`)} as job
from target s left join lateral (
  select * from made union all select * from jobs where id = ${jobId}::uuid) j on true`);
  if (!row) return { kind: "not_found" };
  if (!row.known) return { kind: "unknown_job_type", type: row.type };
  return { kind: "created", job: toJob(row.job), wakeup: row.published ? toWakeup(row) : null };
}
