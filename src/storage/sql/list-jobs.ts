import { type SQL, sql } from "drizzle-orm";
import type {
  JobFilter,
  JobPage,
  JobSummary,
  ListPosition,
  PageRequest,
} from "../../core/listing.js";
import type { Actor } from "../../core/operations.js";
import type { Database } from "../client.js";
import { budgetUsed, instantText } from "../fragments.js";
import { type ListPath, listPath, visibleTenants } from "../list-path.js";

/**
 * Reads one page of the jobs that a filter matches, newest first by (created_at, id).
 *
 * Shape: each range gives its newest matches, until it has enough of them or has spent its share of
 *        entries: there is its edge. Whatever is not older than the newest edge is known, and the
 *        page ends with its last item or at that edge. Both columns of the order never change, so a
 *        job is passed once, whatever happens to it meanwhile.
 */
export async function listJobs(
  db: Database,
  filter: JobFilter,
  actor: Actor,
  page: PageRequest,
): Promise<JobPage> {
  const [row] = await db.run<{ items: JobSummary[]; next: ListPosition | null }>(
    statement(filter, actor, page),
  );
  if (!row) throw new Error("the list-jobs statement gives exactly one row");
  return row;
}

const newestFirst = sql`order by created_at desc, id desc`;

function statement(filter: JobFilter, actor: Actor, page: PageRequest): SQL {
  const path = listPath(filter, page.entriesMax);
  return sql`/* list-jobs */
with recursive ${visibleTenants(actor)},
range as (
  select t.name as tenant, k.key from tenant t
  cross join jsonb_array_elements_text(${JSON.stringify(path.keys)}::jsonb) as k(key)
  where t.name is not null),
share as (
  select greatest(${page.limit}::int + 1, ${page.entriesMax}::int / greatest(count(*), 1)) as entries
  from range),
${live(path, page)}
found as (
  select e.* from range r cross join share cross join lateral (
    select created_at, id, matches, nth = share.entries as spent from (
      select j.created_at, j.id, ${path.rest} as matches,
        row_number() over (${newestFirst}) as nth
      from (${entries(path, windowOf(filter, page))} ${newestFirst} limit share.entries) j) looked_at
    where matches or nth = share.entries
    ${newestFirst} limit ${page.limit}::int + 1) e),
edge as (select created_at, id from found where spent ${newestFirst} limit 1),
known as (
  select f.created_at, f.id from found f
  where f.matches and not exists (
    select from edge where (f.created_at, f.id) < (edge.created_at, edge.id))),
item as (select * from known ${newestFirst} limit ${page.limit}::int),
ending as (
  select * from (select * from item order by created_at, id limit 1) last_item
  where (select count(*) from known) > ${page.limit}::int
  union all
  select * from edge where (select count(*) from known) <= ${page.limit}::int)
select coalesce((
    select jsonb_agg(${summaryJson(sql`j`)} order by j.created_at desc, j.id desc)
    from item join jobs j using (id)), '[]'::jsonb) as items,
  (select jsonb_build_object('id', id,
    'createdAtMicros', (extract(epoch from created_at) * 1000000)::bigint) from ending) as next`;
}

/** A CTE with the few rows of the wanted states, where there are few. */
function live({ live: [first, ...more] }: ListPath, { entriesMax }: PageRequest): SQL {
  if (!first) return sql``;
  const all = more.reduce((sofar, each) => sql`${sofar} union all (${each})`, sql`(${first})`);
  return sql`
live as materialized (select tenant, created_at, id, status, job_type from (${all}) j),
few as (select from live having count(*) <= ${entriesMax}::int),`;
}

/** The entries of one range; of the live rows, if they are few, since those need no walk. */
function entries({ range, live }: ListPath, window: SQL): SQL {
  const from = (source: SQL): SQL => sql`
    select j.created_at, j.id, j.status, j.job_type from ${source} j
    where j.tenant = r.tenant and ${range} and ${window}`;
  if (live.length === 0) return from(sql`jobs`);
  return sql`select * from (
    (${from(sql`jobs`)} and not exists (select from few) ${newestFirst} limit share.entries)
    union all
    (${from(sql`live`)} and exists (select from few))) j`;
}

/** The part of a range that the page may look at. */
function windowOf({ createdAfter, createdBefore }: JobFilter, { after }: PageRequest): SQL {
  const conditions = [
    ...(createdAfter === null ? [] : [sql`j.created_at >= ${createdAfter}::timestamptz`]),
    ...(createdBefore === null ? [] : [sql`j.created_at < ${createdBefore}::timestamptz`]),
    ...(after === null
      ? []
      : [sql`(j.created_at, j.id) < (${instantOf(after)}, ${after.id}::uuid)`]),
  ];
  return conditions.reduce((sofar, each) => sql`${sofar} and ${each}`, sql`true`);
}

const instantOf = ({ createdAtMicros }: ListPosition): SQL =>
  sql`timestamptz 'epoch' + ${createdAtMicros}::bigint * interval '1 microsecond'`;

/** A job without its large members; those are not even read from disk. */
const summaryJson = (alias: SQL): SQL => sql`jsonb_build_object(
  'id', ${alias}.id, 'tenant', ${alias}.tenant, 'type', ${alias}.job_type,
  'status', ${alias}.status, 'priority', ${alias}.priority,
  'resultOmitted', ${alias}.result_omitted, 'attempts', ${alias}.attempts,
  'attemptsLeft', ${alias}.max_attempts - ${budgetUsed(alias)}, 'maxAttempts', ${alias}.max_attempts,
  'dedupeKey', ${alias}.dedupe_key, 'lastError', ${alias}.last_error,
  'cancelRequested', ${alias}.cancel_requested_at is not null,
  'nextRunAt', ${instantText(sql`${alias}.next_run_at`)},
  'lockedUntil', ${instantText(sql`${alias}.lock_until`)},
  'startedAt', ${instantText(sql`${alias}.started_at`)},
  'finishedAt', ${instantText(sql`${alias}.finished_at`)},
  'createdAt', ${instantText(sql`${alias}.created_at`)},
  'updatedAt', ${instantText(sql`${alias}.updated_at`)})`;
