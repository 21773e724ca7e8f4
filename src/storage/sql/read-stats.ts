import { type SQL, sql } from "drizzle-orm";
import type { Stats } from "../../core/listing.js";
import type { Actor } from "../../core/operations.js";
import { waitingTypes, workedTypes } from "../activity.js";
import type { Database } from "../client.js";
import { instantText, visibleTo } from "../fragments.js";
import { visibleTenants } from "../list-path.js";

/**
 * Counts what is alive, dead letters and the last hour's attempts, by job type.
 *
 * Shape: every count reads at most `countMax` index entries of each range that it goes through: a
 *        type and priority, all leases, a tenant's dead letters, a type's attempts. These ranges
 *        hold all tenants' jobs, so for one of them even a small count may be `capped`.
 */
export async function readStats(db: Database, actor: Actor, countMax: number): Promise<Stats> {
  const [row] = await db.run<Stats>(sql`/* read-stats */
with recursive ${visibleTenants(actor)},
${waitingTypes(sql`next_run_at is not null`)},
${workedTypes},
due as (${waiting(sql`j.next_run_at <= now()`, actor, countMax)}),
later as (${waiting(sql`j.next_run_at > now()`, actor, countMax)}),
${leases(actor, countMax)},
${deadLetters(countMax)},
attempted as (${attempts(actor, countMax)}),
seen as (
  select job_type from due union select job_type from later union select job_type from lease
  union select job_type from dead union select job_type from attempted
  union select job_type from type_state where paused_at is not null)
select ${instantText(sql`now()`)} as at, coalesce((
  select jsonb_agg(${typeJson(countMax)} order by seen.job_type)
  from seen
  left join due using (job_type) left join later using (job_type) left join lease using (job_type)
  left join dead using (job_type) left join attempted using (job_type)
  left join type_state ts using (job_type)
  cross join leased cross join buried), '[]'::jsonb) as types`);
  if (!row) throw new Error("the read-stats statement gives exactly one row");
  return row;
}

const capped = (count: SQL, isCapped: SQL): SQL =>
  sql`jsonb_build_object('count', coalesce(${count}, 0), 'capped', coalesce(${isCapped}, false))`;

const anHourAgo = sql`now() - interval '1 hour'`;

function typeJson(countMax: number): SQL {
  return sql`jsonb_build_object(
    'type', seen.job_type, 'paused', ts.paused_at is not null,
    'queuedDue', ${capped(sql`due.queued`, sql`due.capped`)},
    'queuedLater', ${capped(sql`later.queued`, sql`later.capped`)},
    'failed', ${capped(
      sql`coalesce(due.failed, 0) + coalesce(later.failed, 0)`,
      sql`coalesce(due.capped, false) or coalesce(later.capped, false)`,
    )},
    'processing', ${capped(sql`lease.held`, sql`leased.capped`)},
    'expiredLeases', ${capped(sql`lease.expired`, sql`leased.capped`)},
    'deadLetters', ${capped(sql`dead.letters`, sql`buried.capped`)},
    'oldestDueSeconds', extract(epoch from now() - due.oldest)::float8,
    'attempts', jsonb_build_object(
      'since', ${instantText(sql`case when attempted.read >= ${countMax}::int
        then attempted.oldest else ${anHourAgo} end`)},
      'capped', coalesce(attempted.read >= ${countMax}::int, false),
      'byOutcome', coalesce(attempted.by_outcome, '{}'::jsonb)))`;
}

/** Waiting jobs by type; each priority is a range of its own, as in the claim. */
function waiting(condition: SQL, actor: Actor, countMax: number): SQL {
  return sql`
  select w.job_type, sum(e.queued)::int as queued, sum(e.failed)::int as failed,
    min(e.oldest) as oldest, bool_or(e.read >= ${countMax}::int) as capped
  from waiting_type w cross join generate_series(0, 9) as level(priority) cross join lateral (
    select count(*) as read, count(*) filter (where mine and status = 'queued') as queued,
      count(*) filter (where mine and status = 'failed') as failed,
      min(next_run_at) filter (where mine) as oldest
    from (
      select j.status, j.next_run_at, ${visibleTo(actor, sql`j`)} as mine from jobs j
      where j.job_type = w.job_type and j.priority = level.priority and ${condition}
      order by j.next_run_at limit ${countMax}::int) entry) e
  where w.job_type is not null
  group by w.job_type
  having sum(e.queued + e.failed) > 0 or bool_or(e.read >= ${countMax}::int)`;
}

function leases(actor: Actor, countMax: number): SQL {
  return sql`held as materialized (
  select j.job_type, j.lock_until, ${visibleTo(actor, sql`j`)} as mine from jobs j
  where j.lock_until is not null order by j.lock_until limit ${countMax}::int),
leased as (select count(*) >= ${countMax}::int as capped from held),
lease as (
  select job_type, count(*) as held, count(*) filter (where lock_until <= now()) as expired
  from held where mine group by job_type)`;
}

function deadLetters(countMax: number): SQL {
  return sql`dead_letter as materialized (
  select t.name, d.job_type from tenant t cross join lateral (
    select j.job_type from jobs j where j.tenant = t.name and j.status = 'dead_letter'
    order by j.created_at desc, j.id desc limit ${countMax}::int) d),
buried as (select exists (
  select from dead_letter group by name having count(*) >= ${countMax}::int) as capped),
dead as (select job_type, count(*) as letters from dead_letter group by job_type)`;
}

/** The newest attempts of the last hour by type, counted by outcome. */
function attempts({ tenant }: Actor, countMax: number): SQL {
  // As a value and not as EXISTS, which the planner may answer by hashing the whole table.
  const mine =
    tenant === null
      ? sql`true`
      : sql`(select j.tenant from jobs j where j.id = a.job_id) = ${tenant}::text`;
  return sql`
  select w.job_type, sum(o.read)::int as read, min(o.oldest) as oldest,
    jsonb_object_agg(o.outcome, o.mine) filter (where o.mine > 0) as by_outcome
  from worked_type w cross join lateral (
    select outcome, count(*) as read, count(*) filter (where mine) as mine,
      min(finished_at) as oldest
    from (
      select a.outcome, a.finished_at, ${mine} as mine from job_attempts a
      where a.job_type = w.job_type and a.finished_at > ${anHourAgo}
      order by a.finished_at desc limit ${countMax}::int) newest
    group by outcome) o
  group by w.job_type
  having sum(o.mine) > 0 or sum(o.read) >= ${countMax}::int`;
}
