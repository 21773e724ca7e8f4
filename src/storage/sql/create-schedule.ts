import { sql } from "drizzle-orm";
import type { NewSchedule, Schedule } from "../../core/schedule.js";
import type { Database } from "../client.js";
import { planFromNow, scheduleJson } from "../schedule-rows.js";

/**
 * Creates a schedule, which a sweep begins to plan; null when its tenant has one of this name.
 *
 * Guard:  the unique name.
 * Repeat: finds its own schedule by its id and gives it.
 */
export async function createSchedule(
  db: Database,
  schedule: NewSchedule,
): Promise<Schedule | null> {
  const [row] = await db.run<{ schedule: Schedule }>(sql`/* create-schedule */
with made as (
  insert into schedules (id, tenant, name, cron, time_zone, job_type, payload_json,
    missed_run_policy, enabled, plan_from, last_action_id, created_at, updated_at)
  values (${schedule.id}::uuid, ${schedule.tenant}, ${schedule.name}, ${schedule.cron},
    ${schedule.timeZone}, ${schedule.type}, ${JSON.stringify(schedule.payload)}::jsonb,
    ${schedule.missedRunPolicy}, ${schedule.enabled}::boolean, ${planFromNow},
    ${schedule.id}::uuid, now(), now())
  on conflict do nothing returning *)
select ${scheduleJson(sql`s`)} as schedule
from (select * from made union all select * from schedules where id = ${schedule.id}::uuid) s`);
  return row?.schedule ?? null;
}
