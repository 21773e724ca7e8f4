import { type SQL, sql } from "drizzle-orm";
import type { Timeline, TimelineItem } from "../../core/listing.js";
import type { Actor } from "../../core/operations.js";
import type { Database } from "../client.js";
import { instantText, visibleTo } from "../fragments.js";

/** Characters of an error's message: enough to know it, a thousand of them still fit an answer. */
const MESSAGE_LENGTH_MAX = 1000;

/** What comes first of several things that one statement wrote at one instant. */
const RANK = {
  created: 0,
  cancel_requested: 1,
  attempt_finished: 2,
  settled: 3,
  replayed: 4,
  cancelled: 5,
  published: 6,
  claimed: 7,
  effect: 8,
  delivery_refused: 9,
} as const satisfies Record<TimelineItem["kind"], number>;

/** Puts together what is known of a job's life; null for an id that the actor may not see. */
export async function readTimeline(
  db: Database,
  jobId: string,
  actor: Actor,
  itemsMax: number,
): Promise<Timeline | null> {
  const [row] = await db.run<Pick<Timeline, "items" | "truncated">>(sql`/* read-timeline */
with job as (
  select id, status, created_at, finished_at, triggered_at, trigger_seq, attempts, lock_token,
    attempt_started_at, tenant, idempotency_key, schedule_id
  from jobs j where j.id = ${jobId}::uuid and ${visibleTo(actor, sql`j`)}),
attempt as (
  select a.lock_token, a.number, a.started_at from job_attempts a join job on job.id = a.job_id
  union all
  select lock_token, attempts, attempt_started_at from job where status = 'processing'),
item as (
  ${ofJob()} union all ${ofAttempts()} union all ${ofEffects()} union all ${ofEvents(actor)}),
newest as (
  select *, row_number() over (order by at desc, rank desc) as nth
  from item join (${ranks()}) ranks on ranks.kind = item.body ->> 'kind'
  order by at desc, rank desc limit ${itemsMax}::int + 1)
select (select count(*) > ${itemsMax}::int from newest) as truncated, (
    select jsonb_agg(jsonb_build_object('at', ${instantText(sql`at`)}) || body order by nth desc)
    from newest where nth <= ${itemsMax}::int) as items
from job`);
  return row ? { jobId, ...row } : null;
}

const ranks = (): SQL =>
  sql`select key as kind, value::int as rank from jsonb_each_text(${JSON.stringify(RANK)}::jsonb)`;

const errorBrief = (code: SQL, message: SQL): SQL => sql`case when ${code} is not null then
  jsonb_build_object('code', ${code}, 'message', left(${message}, ${MESSAGE_LENGTH_MAX}::int)) end`;

/**
 * What the job's own row tells: its creation, its latest message, and how it was cancelled.
 *
 * A recovery that ends its job sets `triggered_at` as well, to `finished_at`, and publishes nothing.
 */
function ofJob(): SQL {
  const isEvent = (at: SQL, kinds: SQL): SQL => sql`exists (
    select from job_events e where e.job_id = job.id and e.at = ${at} and e.kind in (${kinds}))`;
  return sql`
  select created_at as at, jsonb_build_object('kind', 'created', 'by', tenant,
    'idempotencyKey', idempotency_key,
    'schedule', (select s.name from schedules s where s.id = job.schedule_id)) as body from job
  union all
  select triggered_at, jsonb_build_object(
    'kind', 'published', 'seq', trigger_seq, 'why', null, 'failed', false)
  from job where triggered_at is not null
    and triggered_at is distinct from finished_at
    and not ${isEvent(sql`job.triggered_at`, sql`'published', 'run_now'`)}
  union all
  select finished_at, jsonb_build_object('kind', 'cancelled', 'by', null, 'reason', null)
  from job where status = 'cancelled' and not ${isEvent(sql`job.finished_at`, sql`'cancelled'`)}`;
}

function ofAttempts(): SQL {
  return sql`
  select started_at, jsonb_build_object('kind', 'claimed', 'attempt', number) from attempt
  union all
  select a.finished_at, jsonb_build_object('kind', 'attempt_finished', 'attempt', a.number,
    'outcome', a.outcome, 'error', ${errorBrief(sql`a.error_code`, sql`a.error_message`)},
    'late', case when a.late_at is not null then jsonb_build_object(
      'at', ${instantText(sql`a.late_at`)}, 'outcome', a.late_outcome) end)
  from job_attempts a join job on job.id = a.job_id`;
}

/** An effect that a later attempt took over began, for the reader, no earlier than that attempt. */
function ofEffects(): SQL {
  return sql`
  select greatest(e.started_at, a.started_at), jsonb_build_object('kind', 'effect',
    'attempt', a.number, 'name', e.name,
    'outcome', case when e.state <> 'started' then e.state
      when e.lock_token = job.lock_token then 'running' else 'unknown' end,
    'finishedAt', ${instantText(sql`e.finished_at`)}, 'settledBy', e.settled_by,
    'trace', e.trace_json)
  from job join job_effects e on e.job_id = job.id
  left join attempt a on a.lock_token = e.lock_token`;
}

/** Member by member, so that nothing is shown because somebody stored it. */
function ofEvents(actor: Actor): SQL {
  const by = sql`'by', e.data ->> 'by', 'reason', e.data ->> 'reason'`;
  return sql`
  select e.at, case e.kind
    when 'published' then jsonb_build_object('kind', 'published', 'seq', e.data -> 'seq',
      'why', e.data ->> 'why', 'failed', coalesce((e.data ->> 'failed')::boolean, false))
    when 'run_now' then jsonb_build_object('kind', 'published', 'seq', null, 'why', 'run_now',
      'failed', false, ${by})
    when 'delivery_refused' then jsonb_build_object('kind', e.kind,
      'reason', e.data ->> 'reason', 'messageId', e.data ->> 'messageId', 'ranJobId', (
        select ran.id from jobs ran
        where ran.id = (e.data ->> 'ranJobId')::uuid and ${visibleTo(actor, sql`ran`)}))
    when 'replayed' then jsonb_build_object('kind', e.kind, ${by}, 'was', e.data ->> 'was',
      'error', ${errorBrief(sql`e.data #>> '{error,code}'`, sql`e.data #>> '{error,message}'`)},
      'payloadChanged', coalesce((e.data ->> 'payloadChanged')::boolean, false),
      'bulk', coalesce((e.data ->> 'bulk')::boolean, false))
    when 'settled' then jsonb_build_object('kind', e.kind, ${by},
      'effect', e.data ->> 'effect', 'outcome', e.data ->> 'outcome')
    else jsonb_build_object('kind', e.kind, ${by}) end
  from job_events e join job on job.id = e.job_id
  where e.kind in ('published', 'run_now', 'delivery_refused', 'cancel_requested', 'cancelled',
    'replayed', 'settled')`;
}
