import { sql } from "drizzle-orm";
import type { Database } from "../client.js";

/** Writes down that a sweep ran, for readiness and metrics. */
export async function recordSweep(db: Database): Promise<void> {
  await db.run(sql`/* record-sweep */
insert into sweep_state (id, swept_at) values (true, now())
on conflict (id) do update set swept_at = greatest(sweep_state.swept_at, excluded.swept_at)`);
}
