import { sql } from "drizzle-orm";
import type { EffectEnd, EffectRef } from "../../core/attempt.js";
import type { Database } from "../client.js";

/**
 * Records what became of an effect; false when another attempt has started it since.
 *
 * Guard:  the token of the attempt that started the effect, not the job's: a known "done" is kept
 *         even when the lease was lost meanwhile (I11). A human's "not done" gives way to the one
 *         who did it, as long as nobody started it anew.
 * Repeat: writes the same again.
 */
export async function endEffect(
  db: Database,
  { jobId, lockToken, name }: EffectRef,
  end: EffectEnd,
): Promise<boolean> {
  const result = end.kind === "done" && end.result !== null ? JSON.stringify(end.result) : null;
  const trace = end.trace === null ? null : JSON.stringify(end.trace);
  const state = end.kind === "unknown" ? "started" : end.kind;
  const rows = await db.run<{ name: string }>(sql`/* end-effect */
update job_effects set
  state = ${state}::text,
  result_json = ${result}::jsonb,
  trace_json = coalesce(${trace}::jsonb, trace_json),
  finished_at = case when ${state}::text <> 'started' then coalesce(finished_at, now()) end
where job_id = ${jobId}::uuid and name = ${name}::text and lock_token = ${lockToken}::uuid
  and (state = 'started' or state = ${state}::text or settled_by is not null and ${state}::text = 'done')
returning name`);
  return rows.length > 0;
}
