import { sql } from "drizzle-orm";
import type { OperatorAction, Settlement, SettleOutcome } from "../../core/operations.js";
import type { Database } from "../client.js";
import { visibleTo } from "../fragments.js";

/**
 * Lets an operator say how an effect ended that nobody reported on.
 *
 * Guard:  started, without an end, and not by the attempt that runs at this moment.
 * Repeat: finds its own action on the effect.
 * Locks:  the job's row, then the effect's, in the order in which attempts take them.
 */
export async function settleEffect(
  db: Database,
  jobId: string,
  name: string,
  settlement: Settlement,
  { actionId, actor, reason }: OperatorAction,
): Promise<SettleOutcome> {
  const result =
    settlement.outcome === "done" && settlement.result !== null
      ? JSON.stringify(settlement.result)
      : null;
  const [row] = await db.run<{ kind: SettleOutcome["kind"] }>(sql`/* settle-effect */
with present as (
  select * from jobs j where j.id = ${jobId}::uuid and ${visibleTo(actor, sql`j`)}
  for no key update),
effect as (
  select e.* from present p join job_effects e on e.job_id = p.id and e.name = ${name}::text
  for update of e),
repeated as (select 1 from effect where settle_action_id = ${actionId}::uuid),
settled as (
  update job_effects e set
    state = ${settlement.outcome}::text, result_json = ${result}::jsonb, finished_at = now(),
    settled_by = ${actor.keyName}::text, settle_action_id = ${actionId}::uuid
  from present p
  where e.job_id = p.id and e.name = ${name}::text and e.state = 'started'
    and e.lock_token is distinct from p.lock_token and not exists (select from repeated)
  returning e.job_id),
noted as (
  insert into job_events (job_id, action_id, at, kind, data)
  select job_id, ${actionId}::uuid, now(), 'settled',
    jsonb_build_object('by', ${actor.keyName}::text, 'reason', ${reason}::text,
      'effect', ${name}::text, 'outcome', ${settlement.outcome}::text)
  from settled)
select case
    when exists (select from settled) or exists (select from repeated) then 'settled'
    when exists (select from effect) then 'not_unknown'
    else 'not_found' end as kind
from present`);
  return { kind: row?.kind ?? "not_found" };
}
