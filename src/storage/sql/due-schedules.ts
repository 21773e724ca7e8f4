import { sql } from "drizzle-orm";
import type { DueSchedule } from "../../core/schedule.js";
import type { Database } from "../client.js";
import { instantText } from "../fragments.js";

/** Lists enabled schedules that may have a slot without a job in the time ahead, latest last. */
export async function dueSchedules(
  db: Database,
  aheadSeconds: number,
  limit: number,
): Promise<DueSchedule[]> {
  return db.run<DueSchedule>(sql`/* due-schedules */
select id, cron, time_zone as "timeZone", missed_run_policy as "missedRunPolicy", revision,
  ${instantText(sql`plan_from`)} as "planFrom", ${instantText(sql`now()`)} as "readAt"
from schedules
where enabled and plan_from <= now() + make_interval(secs => ${aheadSeconds}::float8)
order by plan_from limit ${limit}::int`);
}
