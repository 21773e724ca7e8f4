import { sql } from "drizzle-orm";
import type { EffectBegin, EffectRef } from "../../core/attempt.js";
import type { Json } from "../../core/job.js";
import type { Database } from "../client.js";

/**
 * Records the intent to run an effect, or tells why it must not run now.
 *
 * Guard:  the job carries the caller's lock token and nobody asked to cancel it.
 * Order:  `done` is never started again (I11); `not_done` is; an effect without a known end is taken
 *         over only where `rerunUnknown` says that its downstream honours the operation id.
 * Repeat: the effect already carries the caller's token, and the answer is `run` again.
 * Locks:  the job's row, then the effect's, which only this job's attempts touch.
 */
export async function beginEffect(
  db: Database,
  { jobId, lockToken, name }: EffectRef,
  rerunUnknown: boolean,
): Promise<EffectBegin> {
  const [row] = await db.run<{ answer: EffectBegin["kind"]; result_json: Json }>(
    sql`/* begin-effect */
with held as (
  select id, cancel_requested_at is not null as cancel_requested from jobs
  where id = ${jobId}::uuid and lock_token = ${lockToken}::uuid for no key update),
begun as (
  insert into job_effects as e (job_id, name, state, lock_token, started_at)
  select id, ${name}::text, 'started', ${lockToken}::uuid, now() from held where not cancel_requested
  on conflict (job_id, name) do update set
    state = case when e.state = 'not_done' then 'started' else e.state end,
    lock_token = case when e.state = 'not_done' or e.state = 'started' and ${rerunUnknown}::boolean
      then excluded.lock_token else e.lock_token end,
    started_at = case when e.state = 'not_done' then excluded.started_at else e.started_at end,
    finished_at = case when e.state = 'not_done' then null else e.finished_at end
  returning e.state, e.lock_token, e.result_json)
select case
    when not exists (select from held) then 'lease_lost'
    when (select cancel_requested from held) then 'cancelled'
    when begun.state = 'done' then 'done'
    when begun.lock_token = ${lockToken}::uuid then 'run'
    else 'unknown' end as answer, begun.result_json
from (select) one left join begun on true`,
  );
  if (!row) throw new Error("the begin-effect statement gives exactly one row");
  return row.answer === "done" ? { kind: "done", result: row.result_json } : { kind: row.answer };
}
