import { sql } from "drizzle-orm";
import type { AlertNotice } from "../../core/monitoring.js";
import type { Database } from "../client.js";

/** Writes down that the operator was told of an incident's beginning or end; the first time stays. */
export async function markAlertTold(
  db: Database,
  id: string,
  phase: AlertNotice["phase"],
): Promise<void> {
  const opened = sql`${phase === "opened"}::boolean`;
  await db.run(sql`/* mark-alert-told */
update alerts set
  opening_told_at = case when ${opened} then coalesce(opening_told_at, now()) else opening_told_at end,
  recovery_told_at = case when ${opened} then recovery_told_at else coalesce(recovery_told_at, now()) end,
  telling_until = null
where id = ${id}::uuid`);
}
