import { sql } from "drizzle-orm";
import type { ClaimedAttempt, HeartbeatOutcome } from "../../core/attempt.js";
import type { Json } from "../../core/job.js";
import type { Database } from "../client.js";

/**
 * Extends the lease of a held job, stores progress if any, and brings a cancel request.
 *
 * Guard: the lock token. A lease that ran out but was taken by nobody is extended: its holder lives.
 * Locks: one row of jobs, waited for.
 */
export async function heartbeat(
  db: Database,
  attempt: Pick<ClaimedAttempt, "jobId" | "lockToken" | "leaseSeconds">,
  progress: Json | undefined,
): Promise<HeartbeatOutcome> {
  const progressText = progress === undefined ? null : JSON.stringify(progress);
  const [row] = await db.run<{ cancel_requested: boolean }>(sql`/* heartbeat */
update jobs set
  lock_until = greatest(lock_until, now() + make_interval(secs => ${attempt.leaseSeconds}::float8)),
  progress_json = coalesce(${progressText}::jsonb, progress_json),
  updated_at = now()
where id = ${attempt.jobId}::uuid and lock_token = ${attempt.lockToken}::uuid
returning cancel_requested_at is not null as cancel_requested`);
  if (!row) return { kind: "lease_lost" };
  return { kind: "extended", cancelRequested: row.cancel_requested };
}
