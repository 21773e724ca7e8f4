import { sql } from "drizzle-orm";
import type { Database } from "../client.js";

/**
 * Deletes expired idempotency records; an expired one counts as absent before that already.
 *
 * Locks: skips records that a create holds at this moment, so a response being replayed stays.
 */
export async function purgeIdempotencyRecords(db: Database, limit: number): Promise<number> {
  const [row] = await db.run<{ purged: number }>(sql`/* purge-idempotency-records */
with expired as (
  select tenant, operation, idempotency_key from idempotency_records
  where expires_at <= now() order by expires_at limit ${limit}::int for update skip locked),
purged as (
  delete from idempotency_records r using expired e
  where r.tenant = e.tenant and r.operation = e.operation
    and r.idempotency_key = e.idempotency_key and r.expires_at <= now()
  returning 1)
select count(*)::int as purged from purged`);
  return row?.purged ?? 0;
}
