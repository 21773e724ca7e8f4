import { sql } from "drizzle-orm";
import type { NewSchedule, Schedule } from "../../core/schedule.js";
import type { Database } from "../client.js";
import { planFromNow, scheduleJson } from "../schedule-rows.js";

/**
 * Creates a schedule, which a sweep begins to plan; null when its tenant has one of this name.
 *
 * Guard:  the unique name.
 * Repeat: finds its own schedule by its id and gives it, also when its first try was under way.
 */
export async function createSchedule(
  db: Database,
  schedule: NewSchedule,
): Promise<Schedule | null> {
  const [row] = await db.run<{ schedule: Schedule }>(sql`/* create-schedule */
insert into schedules as s (id, tenant, name, cron, time_zone, job_type, payload_json,
  missed_run_policy, enabled, plan_from, last_action_id, created_at, updated_at)
values (${schedule.id}::uuid, ${schedule.tenant}, ${schedule.name}, ${schedule.cron},
  ${schedule.timeZone}, ${schedule.type}, ${JSON.stringify(schedule.payload)}::jsonb,
  ${schedule.missedRunPolicy}, ${schedule.enabled}::boolean, ${planFromNow},
  ${schedule.id}::uuid, now(), now())
-- Changes nothing: it waits for a first try and gives its row, which this snapshot may not have.
on conflict (tenant, name) do update set name = s.name where s.id = excluded.id
returning ${scheduleJson(sql`s`)} as schedule`);
  return row?.schedule ?? null;
}
