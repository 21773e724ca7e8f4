import { sql } from "drizzle-orm";
import type { JobTrace } from "../../core/reconcile.js";
import { openTypes, waitingTypes } from "../activity.js";
import type { Database } from "../client.js";
import { traceColumns } from "../fragments.js";

/**
 * Finds due jobs whose message was sent long enough ago to have come, longest due first.
 *
 * Shape: `tooOld` counts those among the longest due that were published before QStash's log begins.
 */
export async function findOverdue(
  db: Database,
  unpublishedTypes: string[],
  { settleSeconds, lookBackSeconds }: { settleSeconds: number; lookBackSeconds: number },
  limit: number,
): Promise<{ nowMs: number; jobs: JobTrace[]; tooOld: number }> {
  const secondsAgo = (seconds: number) => sql`now() - make_interval(secs => ${seconds}::float8)`;
  const [row] = await db.run<{ nowMs: number; jobs: JobTrace[] | null; tooOld: number }>(
    sql`/* find-overdue */
with recursive ${waitingTypes(sql`next_run_at is not null`)},
${openTypes(unpublishedTypes)},
due as (
  select d.* from open_type t cross join generate_series(9, 0, -1) as level(priority)
  cross join lateral (
    select j.* from jobs j
    where j.job_type = t.job_type and j.priority = level.priority
      and j.next_run_at <= ${secondsAgo(settleSeconds)}
      and j.triggered_at <= ${secondsAgo(settleSeconds)}
    order by j.next_run_at limit ${limit}::int) d
  order by d.next_run_at limit ${limit}::int),
recent as (select * from due where triggered_at > ${secondsAgo(lookBackSeconds)})
select extract(epoch from now())::float8 * 1000 as "nowMs",
  (select count(*)::int from due) - (select count(*)::int from recent) as "tooOld",
  (select jsonb_agg(to_jsonb(trace)) from (
    select ${traceColumns(sql`r`)} from recent r order by r.next_run_at) trace) as jobs`,
  );
  return { nowMs: row?.nowMs ?? 0, jobs: row?.jobs ?? [], tooOld: row?.tooOld ?? 0 };
}
