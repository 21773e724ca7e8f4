import { sql } from "drizzle-orm";
import { type NewJob, type SqlStatement, StoreUnavailableError } from "../../core/ports.js";
import type { Database } from "../client.js";
import { wakeupGrace } from "../fragments.js";
import { toQuery } from "../to-query.js";

/** A rival's job that was committed while the statement ran is seen by the next one. */
const LOOKS_MAX = 3;

/**
 * Creates a job without a request; gives its id, or that of the active job with its dedupe key.
 *
 * Shape:  known not to be published, so that whoever commits it publishes it next, or the sweep.
 * Locks:  waits for one dedupe slot.
 * Repeat: finds its own job by id.
 */
export async function enqueue(
  db: Database,
  tenant: string,
  job: NewJob,
): Promise<{ jobId: string; created: boolean }> {
  for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
    const [row] = await db.run<{ id: string }>(statement(tenant, job));
    if (row) return { jobId: row.id, created: row.id === job.id };
  }
  throw new StoreUnavailableError("rivals with the same dedupe key came and went");
}

/** Gives the statement of `enqueue`, for the caller's own transaction; no row means a rival's job. */
export function enqueueStatement(tenant: string, job: NewJob): SqlStatement {
  const { sql: text, params } = toQuery(statement(tenant, job));
  return { text, params };
}

function statement(tenant: string, job: NewJob) {
  return sql`/* enqueue */
with made as (
  insert into jobs (id, tenant, job_type, status, priority, max_attempts, payload_json, dedupe_key,
    dedupe_until, next_run_at, next_trigger_at, traceparent, created_at, updated_at)
  select ${job.id}::uuid, ${tenant}::text, ${job.type}::text, 'queued', ${job.priority}::int,
    ${job.maxAttempts}::int, ${JSON.stringify(job.payload)}::jsonb, ${job.dedupeKey}::text,
    ${job.dedupeUntil}::text, time.due, time.due + ${wakeupGrace}, ${job.traceparent}::text,
    now(), now()
  from (select greatest(now(), coalesce(${job.runAt}::timestamptz,
    now() + make_interval(secs => ${job.delaySeconds}::float8))) as due) time
  on conflict do nothing
  returning id)
select id from made
union all
(select id from jobs
  where not exists (select from made) and (id = ${job.id}::uuid
    or tenant = ${tenant}::text and job_type = ${job.type}::text and dedupe_slot = ${job.dedupeKey}::text)
  limit 1)`;
}
