import { type SQL, sql } from "drizzle-orm";
import type { AlertNotice, AlertThresholds } from "../../core/monitoring.js";
import { claimedSince, running, waitingTypes } from "../activity.js";
import type { Database } from "../client.js";
import { instantText, isPaused } from "../fragments.js";

/** The first probe may meet an unlucky moment; a second one without a claim is a pattern. */
const UNANSWERED_PROBES = 2;

/**
 * Opens and closes incidents by what is seen now, and takes notices of them for the caller to send.
 *
 * Guard:  an incident opens once, by the unique index over open ones, and closes once; a notice is
 *         one sweep's for half a minute, so it is sent again only when that sweep failed at it.
 * Order:  the end of an incident is told after its beginning was.
 * Locks:  skips incidents that another sweep holds; openings in order of kind and type.
 */
export async function takeAlerts(
  db: Database,
  thresholds: AlertThresholds,
  limit: number,
): Promise<AlertNotice[]> {
  const [, notices] = await db.batch<[unknown[], AlertNotice[]]>([
    judge(thresholds),
    takeNotices(limit),
  ]);
  return notices;
}

/** `probe_unanswered`: due work and no claim since the probe, so nothing that we publish comes back. */
function judge(thresholds: AlertThresholds): SQL {
  return sql`/* take-alerts: judge */
with recursive ${waitingTypes(sql`next_run_at is not null`)},
${running},
${backlog},
${lastHour},
seen(kind, job_type, value, threshold) as (
  select 'backlog_age', job_type, age, ${thresholds.backlogAgeSeconds}::float8 from backlog
  union all
  select 'dead_letters', job_type, deaths, ${thresholds.deadLetters}::float8 from last_hour
  union all
  select 'expired_leases', job_type, expired, ${thresholds.expiredLeases}::float8 from last_hour
  union all
  select 'publish_failures', '', sum(unpublished), ${thresholds.publishFailures}::float8 from last_hour
  union all
  select 'probe_unanswered', t.job_type, t.probes, ${UNANSWERED_PROBES}::float8
  from type_state t join backlog using (job_type)
  where not ${claimedSince(sql`t.job_type`, sql`t.probed_at`)}),
firing as (select * from seen where threshold > 0 and value >= threshold),
opened as (
  insert into alerts (id, kind, job_type, value, threshold, opened_at)
  select gen_random_uuid(), kind, job_type, value, threshold, now() from firing
  order by kind, job_type
  on conflict (kind, job_type) where closed_at is null do nothing),
passed as (
  select a.id from alerts a
  where a.closed_at is null
    and not exists (select from firing f where f.kind = a.kind and f.job_type = a.job_type)
  for update skip locked)
update alerts a set closed_at = now() from passed where a.id = passed.id and a.closed_at is null`;
}

/** A CTE `backlog`: the age of each type's longest due job; what an operator holds back is left out. */
const backlog: SQL = sql`backlog as materialized (
  select w.job_type, extract(epoch from now() - min(due.next_run_at))::float8 as age
  from waiting_type w cross join generate_series(9, 0, -1) as level(priority)
  cross join lateral (
    select next_run_at from jobs
    where job_type = w.job_type and priority = level.priority and next_run_at <= now()
    order by next_run_at limit 1) due
  where w.job_type is not null and not ${isPaused(sql`w.job_type`)}
  group by w.job_type)`;

/** A CTE `last_hour`: what the counters say of it; attempts of the last moments are not in yet. */
const lastHour: SQL = sql`last_hour as materialized (
  select s.job_type,
    coalesce(sum(s.count) filter (where s.measure = 'dead_letter'), 0)::float8 as deaths,
    coalesce(sum(s.count) filter (where s.measure = 'attempt' and s.label = 'lease_expired'), 0)::float8
      as expired,
    coalesce(sum(s.count) filter (where s.measure = 'publish_failure'), 0)::float8 as unpublished
  from (values ('dead_letter'), ('attempt'), ('publish_failure')) m(measure)
  join job_stats s on s.measure = m.measure and s.minute > now() - interval '1 hour'
  group by s.job_type)`;

/** Old incidents are not told any more: a webhook that is set today has no interest in last month. */
function takeNotices(limit: number): SQL {
  return sql`/* take-alerts: notices */
with pending as (
  select id from alerts
  where (opening_told_at is null or closed_at is not null and recovery_told_at is null)
    and (closed_at is null or closed_at > now() - interval '1 day')
    and (telling_until is null or telling_until <= now())
  order by opened_at, id limit ${limit}::int for update skip locked)
update alerts a set telling_until = now() + interval '30 seconds'
from pending where a.id = pending.id
returning a.id, case when a.opening_told_at is null then 'opened' else 'recovered' end as phase,
  a.kind, nullif(a.job_type, '') as type, a.value, a.threshold,
  ${instantText(sql`a.opened_at`)} as "openedAt",
  case when a.opening_told_at is not null then ${instantText(sql`a.closed_at`)} end as "closedAt",
  extract(epoch from now())::float8 as "takenAtEpochSeconds"`;
}
