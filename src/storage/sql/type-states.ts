import { sql } from "drizzle-orm";
import type { OperatorAction, TypeState } from "../../core/operations.js";
import type { Database } from "../client.js";
import { instantText } from "../fragments.js";

const columns = sql`job_type as type, ${instantText(sql`paused_at`)} as "pausedAt",
  paused_by as "pausedBy", pause_reason as "pauseReason"`;

/** Holds a type back or lets it go on; a repeated pause keeps its first time and reason. */
export async function setTypePaused(
  db: Database,
  type: string,
  paused: boolean,
  { actor, reason }: OperatorAction,
): Promise<TypeState> {
  const [row] = await db.run<TypeState>(
    paused
      ? sql`/* pause-type */
insert into type_state as t (job_type, paused_at, paused_by, pause_reason)
values (${type}::text, now(), ${actor.keyName}::text, ${reason}::text)
on conflict (job_type) do update set
  paused_by = case when t.paused_at is null then excluded.paused_by else t.paused_by end,
  pause_reason = case when t.paused_at is null then excluded.pause_reason else t.pause_reason end,
  paused_at = coalesce(t.paused_at, excluded.paused_at)
returning ${columns}`
      : sql`/* resume-type */
insert into type_state (job_type) values (${type}::text)
on conflict (job_type) do update set paused_at = null, paused_by = null, pause_reason = null
returning ${columns}`,
  );
  if (!row) throw new Error("the pause-type statement gives exactly one row");
  return row;
}

/** Lists what operators set for job types; a type without a row is not paused. */
export async function listTypeStates(db: Database): Promise<TypeState[]> {
  return db.run<TypeState>(sql`/* list-type-states */
select ${columns} from type_state order by job_type`);
}
