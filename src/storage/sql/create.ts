import { type SQL, sql } from "drizzle-orm";
import type { CreateOutcome, IdempotentRequest, NewJob, ResponseShape } from "../../core/ports.js";
import type { Database } from "../client.js";
import { isPaused, wakeupColumns, wakeupGrace } from "../fragments.js";
import { violates } from "../pg-error.js";
import { toWakeup, type WakeupRow } from "../rows.js";

/**
 * Accepts a request: its idempotency record, its jobs and its response, or the stored response.
 *
 * Shape:  one batch of two statements; the second sees what the first wrote.
 * Guard:  the record's primary key (I6) and the dedupe slots (I7); a dedupe hit on a job that is
 *         being cancelled violates `idempotency_records_accepted`, which undoes the whole batch.
 * Locks:  waits for the record, then for slots in the order (tenant, type, key), so that batches
 *         cannot deadlock.
 * Repeat: finds its own record by `owner` and gives the same response.
 */
export async function create(
  db: Database,
  request: IdempotentRequest,
  jobs: NewJob[],
  shape: ResponseShape,
): Promise<CreateOutcome> {
  const items = JSON.stringify(jobs);
  // Without the payloads: they are most of the request, and the answer holds none of them.
  const answers = JSON.stringify(
    jobs.map(({ id, type, dedupeKey }, at) => ({ id, type, dedupeKey, fresh: shape.fresh[at] })),
  );
  try {
    const [, rows] = await db.batch<[unknown[], CreateRow[]]>([
      insertStatement(request, items),
      respondStatement(request, answers, shape),
    ]);
    return toOutcome(rows);
  } catch (error) {
    if (violates(error, "idempotency_records_accepted")) {
      return { kind: "dedupe_job_cancelling" };
    }
    throw error;
  }
}

const itemRows = (items: string): SQL => sql`
  rows from (jsonb_to_recordset(${items}::jsonb) as (
    id uuid, type text, payload jsonb, priority int, "maxAttempts" int, "runAt" timestamptz,
    "delaySeconds" float8, "dedupeKey" text, "dedupeUntil" text, publish boolean,
    traceparent text, fresh text))
  with ordinality as i(id, job_type, payload, priority, max_attempts, run_at, delay_seconds,
    dedupe_key, dedupe_until, publish, traceparent, fresh, position)`;

const ownRecord = ({ tenant, operation, idempotencyKey }: IdempotentRequest): SQL =>
  sql`tenant = ${tenant} and operation = ${operation} and idempotency_key = ${idempotencyKey}`;

/**
 * Both conflicts lock what is there: a live record, so that purging cannot delete it before the second
 * statement, and the active job of a dedupe key until this batch commits, so that the answer stays
 * true. That job's `do update` changes nothing.
 */
function insertStatement(request: IdempotentRequest, items: string): SQL {
  return sql`/* create: insert */
with record as (
  insert into idempotency_records as r
    (tenant, operation, idempotency_key, request_hash, owner, created_at, expires_at)
  values (${request.tenant}, ${request.operation}, ${request.idempotencyKey},
    ${request.requestHash}, ${request.owner}::uuid, now(),
    now() + make_interval(hours => ${request.ttlHours}::int))
  on conflict (tenant, operation, idempotency_key) do update set
    request_hash = excluded.request_hash, owner = excluded.owner, resource_type = null,
    resource_id = null, response_status = null, response_json = null,
    created_at = excluded.created_at, expires_at = excluded.expires_at
  where r.expires_at <= now()
  returning owner),
item as (select * from ${itemRows(items)}),
first_of_key as (
  select * from (
    select *, row_number() over (partition by job_type, dedupe_key order by position) as nth
    from item) numbered
  where dedupe_key is null or nth = 1)
insert into jobs (id, tenant, job_type, status, priority, max_attempts, payload_json,
  idempotency_key, dedupe_key, dedupe_until, next_run_at, next_trigger_at, triggered_at,
  traceparent, created_at, updated_at)
select f.id, ${request.tenant}, f.job_type, 'queued', f.priority, f.max_attempts,
  coalesce(f.payload, 'null'::jsonb),
  ${request.idempotencyKey}, f.dedupe_key, f.dedupe_until, time.due, time.due + ${wakeupGrace},
  case when f.publish and not ${isPaused(sql`f.job_type`)} then now() end,
  f.traceparent, now(), now()
from record, first_of_key f, lateral (
  select greatest(now(), coalesce(f.run_at, now() + make_interval(secs => f.delay_seconds))) as due) time
order by f.job_type, f.dedupe_key, f.position
on conflict (tenant, job_type, dedupe_slot) where dedupe_slot is not null
do update set dedupe_key = excluded.dedupe_key where false`;
}

function respondStatement(request: IdempotentRequest, items: string, shape: ResponseShape): SQL {
  return sql`/* create: respond */
with item as (select * from ${itemRows(items)}),
own as (
  select 1 from idempotency_records
  where ${ownRecord(request)} and owner = ${request.owner}::uuid and response_json is null),
accepted as (
  select item.position, item.id as asked_id, item.fresh, hit.*
  from own, item
  join lateral (
    select j.id, j.status, j.cancel_requested_at from jobs j where j.id = item.id
    union all
    select j.id, j.status, j.cancel_requested_at from jobs j
    where j.tenant = ${request.tenant} and j.job_type = item.job_type
      and j.dedupe_slot = item.dedupe_key and j.id <> item.id
    limit 1) hit on true),
response as (
  select ${shape.prefix} || string_agg(
      case when id = asked_id then fresh
        else replace(replace(${shape.deduplicated}, '{id}', id::text), '{status}', status) end,
      ',' order by position) || ${shape.suffix} as body,
    (array_agg(id order by position))[1] as first_id,
    bool_or(id <> asked_id and cancel_requested_at is not null) as cancelling
  from accepted),
remembered as (
  update idempotency_records r set
    response_status = case when response.cancelling then 409 else ${shape.status}::int end,
    response_json = response.body, resource_type = 'job', resource_id = response.first_id
  from response
  where ${ownRecord(request)} and owner = ${request.owner}::uuid and r.response_json is null
    and response.body is not null
  returning r.request_hash, r.response_status, r.response_json),
outcome as (
  select true as mine, request_hash, response_status, response_json from remembered
  union all
  select owner = ${request.owner}::uuid, request_hash, response_status, response_json
  from idempotency_records where ${ownRecord(request)} and response_json is not null)
select outcome.mine, outcome.request_hash = ${request.requestHash} as same_request,
  outcome.response_status, fresh.*,
  case when row_number() over (order by fresh.position) = 1 then outcome.response_json end as response_json
from outcome
left join lateral (
  select item.position, ${wakeupColumns(sql`j`)} from item join jobs j on j.id = item.id
  where outcome.mine and j.next_run_at is not null and j.triggered_at is not null) fresh on true
order by fresh.position`;
}

interface CreateRow extends WakeupRow {
  mine: boolean;
  same_request: boolean;
  response_status: number;
  /** On the first row only: on each of a batch of 500 it made an answer of 45 MB. */
  response_json: string | null;
}

function toOutcome(rows: CreateRow[]): CreateOutcome {
  const [row] = rows;
  if (!row?.response_json) {
    throw new Error("the create batch gives at least one row, the first with the response");
  }
  if (!row.same_request) return { kind: "key_reused" };
  const response = { status: row.response_status, body: row.response_json };
  if (!row.mine) return { kind: "replayed", ...response };
  const wakeups = rows.filter((each) => each.job_id !== null).map(toWakeup);
  return { kind: "created", ...response, wakeups };
}
