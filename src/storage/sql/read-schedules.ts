import { sql } from "drizzle-orm";
import type { Actor } from "../../core/operations.js";
import type { Schedule, ScheduleRef } from "../../core/schedule.js";
import type { Database } from "../client.js";
import { visibleTo } from "../fragments.js";
import { scheduleIdOf, scheduleJson } from "../schedule-rows.js";

/** Reads the schedules that the actor may see, by name: all of them, or the one that is asked for. */
export async function readSchedules(
  db: Database,
  actor: Actor,
  ref: ScheduleRef | null,
  limit: number,
): Promise<Schedule[]> {
  const wanted = ref === null ? visibleTo(actor, sql`s`) : sql`s.id = ${scheduleIdOf(ref, actor)}`;
  const rows = await db.run<{ schedule: Schedule }>(sql`/* read-schedules */
select ${scheduleJson(sql`s`)} as schedule from schedules s
where ${wanted} order by s.name, s.tenant limit ${limit}::int`);
  return rows.map(({ schedule }) => schedule);
}
