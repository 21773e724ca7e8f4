import { sql } from "drizzle-orm";
import type { CreateOutcome, IdempotentRequest } from "../../core/ports.js";
import type { Database } from "../client.js";

/** Looks up the stored response of a request; null when its key is unknown or expired. */
export async function findReplay(
  db: Database,
  request: Pick<IdempotentRequest, "tenant" | "operation" | "idempotencyKey" | "requestHash">,
): Promise<CreateOutcome | null> {
  const [row] = await db.run<{ same: boolean; status: number; body: string }>(sql`/* find-replay */
select request_hash = ${request.requestHash} as same, response_status as status,
  response_json as body
from idempotency_records
where tenant = ${request.tenant} and operation = ${request.operation}
  and idempotency_key = ${request.idempotencyKey}
  and response_json is not null and expires_at > now()`);
  if (!row) return null;
  if (!row.same) return { kind: "key_reused" };
  return { kind: "replayed", status: row.status, body: row.body };
}
