import { sql } from "drizzle-orm";
import type { StatTotals } from "../../core/monitoring.js";
import type { Database } from "../client.js";

/** Reads the counters since the beginning: rows by type and label, whatever the history. */
export async function readTotals(db: Database): Promise<StatTotals> {
  const [row] = await db.run<StatTotals>(sql`/* read-totals */
select (select extract(epoch from swept_at)::float8 from sweep_state) as "sweptAtEpochSeconds",
  coalesce((
    select jsonb_agg(jsonb_build_object(
      'type', job_type, 'measure', measure, 'label', label, 'count', count)
      order by measure, job_type, label)
    from stat_totals), '[]'::jsonb) as totals`);
  if (!row) throw new Error("the read-totals statement gives exactly one row");
  return row;
}
