import { sql } from "drizzle-orm";
import type { Wakeup } from "../../core/job.js";
import { MAX_ATTEMPTS_BOUNDS } from "../../core/job.js";
import type { ScheduledType, SlotPlan } from "../../core/schedule.js";
import type { Database } from "../client.js";
import { isPaused, wakeupColumns, wakeupGrace } from "../fragments.js";
import { toWakeup, type WakeupRow } from "../rows.js";
import { lastRunAt, scheduledType, typesByName } from "../schedule-rows.js";

/**
 * Creates the jobs of planned slots and moves their schedules on; gives the messages to publish.
 *
 * Guard:  revision and `plan_from` are those that the plan was made of, once the schedule's lock is
 *         held; and one job per schedule, revision and slot by the unique key.
 * Locks:  skips schedules that are locked at this moment: they are being planned, or changed.
 * Repeat: finds its own jobs by their ids and gives their messages again.
 */
export async function makeSlots(
  db: Database,
  plans: SlotPlan[],
  scheduledTypes: ScheduledType[],
): Promise<Wakeup[]> {
  const types = typesByName(scheduledTypes);
  const items = JSON.stringify(plans);
  const typeOf = scheduledType(types, sql`h.job_type`);
  const rows = await db.run<WakeupRow>(sql`/* make-slots */
with plan as (
  select * from jsonb_to_recordset(${items}::jsonb) as p ("scheduleId" uuid, revision int,
    "planFrom" timestamptz, "nextPlanFrom" timestamptz, slots jsonb, missed jsonb)),
held as (
  select s.id, s.tenant, s.job_type, s.payload_json, s.revision,
    p."nextPlanFrom" as next_plan_from, p.slots, nullif(p.missed, 'null'::jsonb) as missed
  from schedules s join plan p on s.id = p."scheduleId"
  where s.enabled and s.revision = p.revision and s.plan_from = p."planFrom"
  for update of s skip locked),
made as (
  insert into jobs (id, tenant, job_type, status, priority, max_attempts, payload_json,
    next_run_at, next_trigger_at, triggered_at, schedule_id, schedule_revision, slot_at,
    created_at, updated_at)
  select slot."jobId", h.tenant, h.job_type, 'queued', 0,
    coalesce((${typeOf} ->> 'maxAttempts')::int, ${MAX_ATTEMPTS_BOUNDS.default}::int), h.payload_json,
    time.due, time.due + ${wakeupGrace},
    case when coalesce((${typeOf} ->> 'publish')::boolean, true)
      and not ${isPaused(sql`h.job_type`)} then now() end,
    h.id, h.revision, slot."slotAt", now(), now()
  from held h
  cross join lateral jsonb_to_recordset(h.slots) as slot ("jobId" uuid, "slotAt" timestamptz)
  cross join lateral (select greatest(now(), slot."slotAt") as due) time
  on conflict (schedule_id, schedule_revision, slot_at) where schedule_id is not null do nothing
  returning *),
moved as (
  update schedules s set
    plan_from = h.next_plan_from, last_run_at = ${lastRunAt(sql`s`)},
    planned_slots = array(
      select slot from unnest(s.planned_slots) slot where slot > now() union all
      select slot."slotAt" from jsonb_to_recordset(h.slots) as slot ("slotAt" timestamptz)),
    last_missed = coalesce(h.missed, s.last_missed)
  from held h where s.id = h.id)
select ${wakeupColumns(sql`j`)}
from (select * from made union all
  select own.* from plan p cross join lateral jsonb_to_recordset(p.slots) as slot ("jobId" uuid)
    join jobs own on own.id = slot."jobId") j
where j.next_run_at is not null and j.triggered_at is not null
order by j.next_run_at`);
  return rows.map(toWakeup);
}
