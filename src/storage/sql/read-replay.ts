import { sql } from "drizzle-orm";
import type { ReplayProgress } from "../../core/activity.js";
import type { Database } from "../client.js";
import { visibleTo } from "../fragments.js";

/** Counts the jobs that one bulk replay took, by the state in which they are now. */
export async function readReplay(
  db: Database,
  actionId: string,
  tenant: string | null,
): Promise<ReplayProgress> {
  const [row] = await db.run<{ progress: ReplayProgress }>(sql`/* read-replay */
select coalesce(jsonb_object_agg(status, count), '{}'::jsonb) as progress from (
  select j.status, count(*) from job_events e join jobs j on j.id = e.job_id
  where e.action_id = ${actionId}::uuid and e.kind = 'replayed'
    and ${visibleTo({ tenant }, sql`j`)}
  group by j.status) counted`);
  return row?.progress ?? {};
}
