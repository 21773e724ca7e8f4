import { type SQL, sql } from "drizzle-orm";
import type { Wakeup } from "../../core/job.js";
import type { Database } from "../client.js";
import { statShard } from "../fragments.js";

/**
 * Takes back the mark "published" of messages that failed, so that the next sweep publishes them.
 *
 * Guard: the seq is still that of the failed message and the job still waits.
 * Locks: one message waits for its row. Several skip locked rows first, since waiting while holding
 *        others could deadlock; what was skipped is then marked one by one.
 *        Counters in order of types, so that two of these statements cannot wait in a circle.
 */
export async function markUnpublished(db: Database, wakeups: FailedMessage[]): Promise<void> {
  const skipped =
    wakeups.length > 1 ? await mark(db, wakeups, sql`for update of j skip locked`) : wakeups;
  for (const wakeup of skipped) await mark(db, [wakeup], sql`for update of j`);
}

type FailedMessage = Pick<Wakeup, "jobId" | "seq">;

/** Marks what it can lock, and gives the messages whose rows it could not. */
async function mark(db: Database, wakeups: FailedMessage[], lock: SQL): Promise<FailedMessage[]> {
  const failed = JSON.stringify(wakeups.map(({ jobId, seq }) => ({ id: jobId, seq })));
  const rows = await db.run<FailedMessage>(sql`/* mark-unpublished */
with failed as (
  select id, seq from jsonb_to_recordset(${failed}::jsonb) as f(id uuid, seq int)),
held as (
  select j.id, j.job_type, failed.seq from failed
  join jobs j on j.id = failed.id and j.trigger_seq = failed.seq and j.next_run_at is not null
  ${lock}),
marked as (
  update jobs j set triggered_at = null, updated_at = now()
  from held where j.id = held.id
  returning j.id),
noted as (
  insert into job_events (job_id, action_id, at, kind, data)
  select held.id, gen_random_uuid(), now(), 'published',
    jsonb_build_object('seq', held.seq, 'failed', true)
  from held),
counted as (
  insert into job_stats as s (minute, job_type, measure, label, shard, count)
  select date_trunc('minute', now()), job_type, 'publish_failure', '', ${statShard}, count(*)
  from held group by job_type order by job_type
  on conflict (minute, job_type, measure, label, shard) do update set count = s.count + excluded.count)
select j.id as "jobId", failed.seq from failed
join jobs j on j.id = failed.id and j.trigger_seq = failed.seq and j.triggered_at is not null
  and j.next_run_at is not null
where not exists (select from held where held.id = j.id)`);
  return rows;
}
