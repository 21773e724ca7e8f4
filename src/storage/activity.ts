/** How much a job type moves, in SQL: what the sweep's publishing rules are decided from. */

import { type SQL, sql } from "drizzle-orm";
import { isNoneOf, isPaused } from "./fragments.js";

/** A type without a claim for this long, and without a live lease, is silent. */
export const SILENCE: SQL = sql`interval '60 seconds'`;

/**
 * A recursive CTE `waiting_type` that lists the types with waiting jobs, one index descent a type.
 *
 * Shape: `condition` restricts the jobs and must imply the predicate of an index led by job_type.
 */
export const waitingTypes = (condition: SQL): SQL => sql`waiting_type(job_type) as (
  (select job_type from jobs where ${condition} order by job_type limit 1)
  union all
  select (select j.job_type from jobs j
    where j.job_type > w.job_type and ${condition} order by j.job_type limit 1)
  from waiting_type w where w.job_type is not null)`;

/** A recursive CTE `worked_type` that lists the types with ended attempts, in the same way. */
export const workedTypes: SQL = sql`worked_type(job_type) as (
  (select job_type from job_attempts order by job_type limit 1)
  union all
  select (select a.job_type from job_attempts a where a.job_type > w.job_type
    order by a.job_type limit 1)
  from worked_type w where w.job_type is not null)`;

/** A CTE `open_type`: waiting types that may be published at all. */
export const openTypes = (unpublishedTypes: readonly string[]): SQL => sql`open_type as (
  select w.job_type from waiting_type w
  where w.job_type is not null and ${isNoneOf(sql`w.job_type`, unpublishedTypes)}
    and not ${isPaused(sql`w.job_type`)})`;

/** A CTE `running`: each held lease's type and start; few rows, by the lease index. */
export const running: SQL = sql`running as materialized (
  select job_type, attempt_started_at, lock_until from jobs where lock_until is not null)`;

/** True when the type was claimed after an instant; needs the CTE `running`. */
export const claimedSince = (type: SQL, instant: SQL): SQL => sql`(
  exists (select from running r where r.job_type = ${type} and r.attempt_started_at > ${instant})
  or exists (select from job_attempts a
    where a.job_type = ${type} and a.finished_at > ${instant} and a.started_at > ${instant}))`;

/** True when the type has a live lease or was claimed a moment ago; needs the CTE `running`. */
export const isMoving = (type: SQL): SQL => sql`(
  exists (select from running r where r.job_type = ${type} and r.lock_until > now())
  or ${claimedSince(type, sql`now() - ${SILENCE}`)})`;

/** The next look at a job that was published again: 10, 20, 40 minutes … 24 hours after its due time. */
export const nextLook: SQL = sql`now() + least(interval '24 hours',
  greatest(interval '10 minutes', now() - j.next_run_at))`;
