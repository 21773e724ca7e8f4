import { sql } from "drizzle-orm";
import type { DueSchedule, DueSchedules, Recurrence } from "../../core/schedule.js";
import type { Database } from "../client.js";
import { instantText } from "../fragments.js";
import { declaredRows, isDeclared, sameRecurrence } from "../schedule-rows.js";

type DueRow = { declaredCurrent: boolean } & (DueSchedule | { id: null });

/**
 * Lists enabled schedules that may have a slot without a job in the time ahead, soonest first.
 *
 * Shape: also compares the declared schedules, so that a sweep writes them only where they differ.
 */
export async function dueSchedules(
  db: Database,
  declared: Recurrence[],
  aheadSeconds: number,
  limit: number,
): Promise<DueSchedules> {
  const rows = await db.run<DueRow>(sql`/* due-schedules */
with d as (select * from ${declaredRows(declared)}),
state as (
  select (select count(*) from d) = (select count(*) from schedules s where ${isDeclared(sql`s`)})
    and (select count(*) from d) = (select count(*) from d join schedules s
      on s.name = d.type and ${isDeclared(sql`s`)} and ${sameRecurrence(sql`s`, sql`d`)}) as current)
select state.current as "declaredCurrent", due.*
from state left join lateral (
  select id, cron, time_zone as "timeZone", missed_run_policy as "missedRunPolicy", revision,
    ${instantText(sql`plan_from`)} as "planFrom", ${instantText(sql`now()`)} as "readAt"
  from schedules
  where enabled and plan_from <= now() + make_interval(secs => ${aheadSeconds}::float8)
  order by plan_from limit ${limit}::int) due on true`);
  return {
    schedules: rows.flatMap((row) => (row.id === null ? [] : [row])),
    declaredCurrent: rows[0]?.declaredCurrent ?? true,
  };
}
