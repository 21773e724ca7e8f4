/** The ways into a list, in SQL: which index answers which filter, and what is left to check. */

import { type SQL, sql } from "drizzle-orm";
import type { JobStatus } from "../core/job.js";
import type { JobFilter } from "../core/listing.js";
import type { Actor } from "../core/operations.js";

/** The states that the index `jobs_trouble` holds, and those that have small indexes of their own. */
const TROUBLE: readonly JobStatus[] = ["failed", "dead_letter", "cancelled"];
const LIVE: readonly JobStatus[] = ["queued", "processing", "failed"];

/** A list as ranges of one index, each ordered by (created_at, id), one for each tenant and key. */
export interface ListPath {
  keys: readonly string[];
  /** Picks the rows `j` of a range `r`, by its tenant and key. */
  range: SQL;
  /** What the index leaves open about a row `j`. */
  rest: SQL;
  /** Rows of the wanted states by the indexes of those states, whatever their order. */
  live: SQL[];
}

/** Chooses the narrowest ordered index for a filter. */
export function listPath(filter: JobFilter, entriesMax: number): ListPath {
  const { statuses, types, dedupeKey } = filter;
  const wanted = statuses.length > 0 ? isOneOf(sql`j.status`, statuses) : sql`true`;
  const typed = types.length > 0 ? isOneOf(sql`j.job_type`, types) : sql`true`;
  if (dedupeKey !== null) {
    const range = sql`j.dedupe_key = ${dedupeKey}::text`;
    return { keys: [""], range, rest: sql`${wanted} and ${typed}`, live: [] };
  }
  if (areAll(statuses, TROUBLE)) {
    // The constants let the planner see that the partial index holds all of it.
    const range = sql`j.status = r.key and j.status in ('failed', 'dead_letter', 'cancelled')`;
    return { keys: statuses, range, rest: typed, live: [] };
  }
  const live = areAll(statuses, LIVE) ? liveRows(statuses, entriesMax) : [];
  return types.length > 0
    ? { keys: types, range: sql`j.job_type = r.key`, rest: wanted, live }
    : { keys: [""], range: sql`true`, rest: wanted, live };
}

/** A recursive CTE `tenant` of those whose jobs the actor may see, one index descent a tenant. */
export const visibleTenants = ({ tenant }: Pick<Actor, "tenant">): SQL =>
  tenant === null
    ? sql`tenant(name) as (
  (select tenant from jobs order by tenant limit 1)
  union all
  select (select j.tenant from jobs j where j.tenant > t.name order by j.tenant limit 1)
  from tenant t where t.name is not null)`
    : sql`tenant(name) as (select ${tenant}::text)`;

/** One entry more than may be looked at tells that there are too many. */
function liveRows(statuses: readonly JobStatus[], entriesMax: number): SQL[] {
  // The order makes each an index scan; without one a scan of the table may look cheaper.
  const leased = sql`select * from jobs where lock_until is not null
    order by lock_until limit ${entriesMax + 1}::int`;
  const waiting = sql`select * from jobs where next_trigger_at is not null
    order by job_type, next_trigger_at limit ${entriesMax + 1}::int`;
  return [
    ...(statuses.includes("processing") ? [leased] : []),
    ...(statuses.some((status) => status !== "processing") ? [waiting] : []),
  ];
}

function areAll(statuses: readonly JobStatus[], group: readonly JobStatus[]): boolean {
  return statuses.length > 0 && statuses.every((status) => group.includes(status));
}

function isOneOf(expression: SQL, values: readonly string[]): SQL {
  return sql`${JSON.stringify(values)}::jsonb ? ${expression}`;
}
