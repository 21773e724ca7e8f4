import { sql } from "drizzle-orm";
import type { Message } from "../../core/message.js";
import type { Database } from "../client.js";

/**
 * Marks jobs whose message QStash will not deliver any more as not published, for the next sweep.
 *
 * Shape:  with a new seq: under the old one QStash would take the new message for the dead one.
 * Guard:  waiting, published, and no newer message is known, once the row's lock is held.
 * Repeat: finds the newer seq and changes nothing; the job is not among those given then.
 * Locks:  skips rows that are locked at this moment: they are being claimed, or changed anyway.
 */
export async function replaceMessages(
  db: Database,
  messages: Pick<Message, "jobId" | "seq">[],
): Promise<string[]> {
  const gone = JSON.stringify(messages.map(({ jobId, seq }) => ({ id: jobId, seq })));
  const rows = await db.run<{ id: string }>(sql`/* replace-messages */
with gone as (
  select id, max(seq) as seq from jsonb_to_recordset(${gone}::jsonb) as g(id uuid, seq int)
  group by id),
held as (
  select j.id, gone.seq from jobs j join gone on gone.id = j.id
  where j.trigger_seq <= gone.seq and j.triggered_at is not null and j.next_run_at is not null
  limit ${messages.length}::int for update of j skip locked),
marked as (
  update jobs j set trigger_seq = held.seq + 1, triggered_at = null, updated_at = now()
  from held where j.id = held.id
  returning j.id, held.seq),
noted as (
  insert into job_events (job_id, action_id, at, kind, data)
  select id, gen_random_uuid(), now(), 'published',
    jsonb_build_object('seq', seq, 'why', 'reconcile', 'failed', true)
  from marked)
select id from marked`);
  return rows.map(({ id }) => id);
}
