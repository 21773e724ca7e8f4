import { type SQL, sql } from "drizzle-orm";
import { DECLARED_TENANT, type Recurrence } from "../../core/schedule.js";
import type { Database } from "../client.js";
import { declaredRows, isDeclared, lastRunAt, planFromNow } from "../schedule-rows.js";

/**
 * Makes the declared schedules those of a deployment: new ones, changed ones, and no others.
 *
 * Shape:  one batch: revise, cancel what former revisions left, delete what has nothing left.
 * Guard:  each step goes by the state that it finds, so that sweeps may do it beside each other, and
 *         what a lock or `limit` left over is found by the next one.
 * Locks:  the schedules in the order of their names; skips jobs that are locked at this moment.
 */
export async function applyDeclared(
  db: Database,
  declared: (Recurrence & { id: string })[],
  limit: number,
): Promise<void> {
  await db.batch([
    reviseStatement(declared),
    retireStatement(declared),
    cancelStatement(limit),
    removeStatement(),
  ]);
}

function reviseStatement(declared: (Recurrence & { id: string })[]): SQL {
  return sql`/* apply-declared: revise */
insert into schedules as s (id, tenant, name, cron, time_zone, job_type, payload_json,
  missed_run_policy, enabled, declared, plan_from, last_action_id, created_at, updated_at)
select d.id, ${DECLARED_TENANT}, d.type, d.cron, d."timeZone", d.type, d.payload,
  d."missedRunPolicy", true, true, ${planFromNow}, d.id, now(), now()
from ${declaredRows(declared)} order by d.type
on conflict (tenant, name) do update set
  cron = excluded.cron, time_zone = excluded.time_zone, payload_json = excluded.payload_json,
  missed_run_policy = excluded.missed_run_policy, enabled = true, revision = s.revision + 1,
  plan_from = excluded.plan_from, last_run_at = ${lastRunAt(sql`s`)}, planned_slots = '{}',
  updated_at = now()
where not (s.enabled and s.cron = excluded.cron and s.time_zone = excluded.time_zone
  and s.payload_json = excluded.payload_json and s.missed_run_policy = excluded.missed_run_policy)`;
}

function retireStatement(declared: Recurrence[]): SQL {
  return sql`/* apply-declared: retire */
with retired as (
  select s.id from schedules s
  where ${isDeclared(sql`s`)} and s.enabled
    and not exists (select from ${declaredRows(declared)} where d.type = s.name)
  order by s.name for update of s)
update schedules s set enabled = false, revision = s.revision + 1, planned_slots = '{}',
  updated_at = now()
from retired where s.id = retired.id`;
}

function cancelStatement(limit: number): SQL {
  return sql`/* apply-declared: cancel */
with unstarted as (
  select j.id from jobs j join schedules s on s.id = j.schedule_id
  where ${isDeclared(sql`s`)} and j.schedule_revision < s.revision
    and j.status = 'queued' and j.attempts = 0
  order by j.slot_at limit ${limit}::int for update of j skip locked),
cancelled as (
  update jobs j set status = 'cancelled', next_run_at = null, next_trigger_at = null,
    finished_at = now(), cancel_requested_at = now(), updated_at = now()
  from unstarted where j.id = unstarted.id
  returning j.id)
insert into job_events (job_id, action_id, at, kind, data)
select id, gen_random_uuid(), now(), 'cancelled',
  jsonb_build_object('by', null, 'reason', 'schedule changed in code')
from cancelled`;
}

function removeStatement(): SQL {
  return sql`/* apply-declared: remove */
delete from schedules s where ${isDeclared(sql`s`)} and not s.enabled
  and not exists (select from jobs j
    where j.schedule_id = s.id and j.status = 'queued' and j.attempts = 0)`;
}
