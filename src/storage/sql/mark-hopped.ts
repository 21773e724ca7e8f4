import { sql } from "drizzle-orm";
import type { Database } from "../client.js";
import { wakeupGrace } from "../fragments.js";

/**
 * Writes down that the next message of a job that is not due yet was published with a higher seq.
 *
 * Guard:  no newer message is known, so a repeat or a duplicate delivery changes nothing.
 */
export async function markHopped(db: Database, jobId: string, seq: number): Promise<void> {
  await db.run(sql`/* mark-hopped */
update jobs set
  trigger_seq = ${seq}::int + 1, triggered_at = now(),
  next_trigger_at = next_run_at + ${wakeupGrace}, updated_at = now()
where id = ${jobId}::uuid and trigger_seq <= ${seq}::int and next_run_at is not null`);
}
