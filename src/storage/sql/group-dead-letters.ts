import { sql } from "drizzle-orm";
import type { DeadLetterGroups } from "../../core/activity.js";
import type { Database } from "../client.js";
import { instantText } from "../fragments.js";
import { visibleTenants } from "../list-path.js";

/** Characters of the example's message: enough to know the error, with a hundred groups on a page. */
const MESSAGE_LENGTH_MAX = 300;

/**
 * Groups dead letters by type and error code, those that happened last first.
 *
 * Shape: reads the newest `lettersMax` dead letters of each tenant that may be seen, by creation.
 */
export async function groupDeadLetters(
  db: Database,
  tenant: string | null,
  lettersMax: number,
): Promise<DeadLetterGroups> {
  const [row] = await db.run<DeadLetterGroups>(sql`/* group-dead-letters */
with recursive ${visibleTenants({ tenant })},
letter as materialized (
  select d.*, t.name as tenant from tenant t cross join lateral (
    select j.id, j.job_type, j.finished_at, j.last_error ->> 'code' as code,
      left(j.last_error ->> 'message', ${MESSAGE_LENGTH_MAX}::int) as message
    from jobs j where j.tenant = t.name and j.status = 'dead_letter'
    order by j.created_at desc, j.id desc limit ${lettersMax}::int) d),
grouped as (
  select job_type, code, count(*) as count, min(finished_at) as first, max(finished_at) as last,
    (array_agg(id order by finished_at desc, id))[1] as example,
    (array_agg(message order by finished_at desc, id))[1] as message
  from letter group by job_type, code)
select exists (
    select from letter group by tenant having count(*) >= ${lettersMax}::int) as capped,
  coalesce((select jsonb_agg(jsonb_build_object(
      'type', job_type, 'code', code, 'count', count, 'firstAt', ${instantText(sql`first`)},
      'lastAt', ${instantText(sql`last`)}, 'exampleId', example, 'exampleMessage', message)
    order by last desc, job_type, code) from grouped), '[]'::jsonb) as groups`);
  if (!row) throw new Error("the group-dead-letters statement gives exactly one row");
  return row;
}
