import { sql } from "drizzle-orm";
import { openTypes, waitingTypes } from "../activity.js";
import type { Database } from "../client.js";

const unpublished = sql`triggered_at is null and next_run_at is not null`;

/** Counts due jobs that wait for a sweep to publish them, no further than the limit. */
export async function countUnpublished(
  db: Database,
  unpublishedTypes: string[],
  limit: number,
): Promise<number> {
  const [row] = await db.run<{ count: number }>(sql`/* count-unpublished */
with recursive ${waitingTypes(unpublished)},
${openTypes(unpublishedTypes)}
select count(*)::int as count from (
  select from open_type t cross join lateral (
    select j.id from jobs j
    where j.job_type = t.job_type and ${unpublished} and j.next_run_at <= now()
    order by j.next_run_at limit ${limit}::int) due
  limit ${limit}::int) counted`);
  return row?.count ?? 0;
}
