import { sql } from "drizzle-orm";
import type { StoreHealth } from "../../core/ports.js";
import { waitingTypes } from "../activity.js";
import type { Database } from "../client.js";

/**
 * Reads what readiness is judged from: newest migration, age of the last sweep, due work.
 *
 * Shape: due work is looked for in order, by index descents; else a scan of the table looks cheaper.
 */
export async function health(db: Database): Promise<StoreHealth> {
  const [row] = await db.run<{
    migration: string | null;
    sweep_age_seconds: number | null;
    work_waiting: boolean;
  }>(sql`/* health */
with recursive ${waitingTypes(sql`next_run_at is not null`)}
select (select max(name) from antrean_migrations) as migration,
  (select extract(epoch from now() - swept_at)::float8 from sweep_state) as sweep_age_seconds,
  exists (select from jobs where lock_until <= now()) or exists (
    select from waiting_type w cross join generate_series(9, 0, -1) as level(priority)
    cross join lateral (
      select j.id from jobs j
      where j.job_type = w.job_type and j.priority = level.priority and j.next_run_at <= now()
      order by j.next_run_at limit 1) due) as work_waiting`);
  return {
    migration: row?.migration ?? null,
    sweepAgeSeconds: row?.sweep_age_seconds ?? null,
    workWaiting: row?.work_waiting ?? false,
  };
}
