/** What the rows themselves must not show. */

import type pg from "pg";
import type { Told } from "./clients.js";
import { LEASE_SECONDS } from "./script.js";

interface Rule {
  /** What it means when the query gives a row. */
  name: string;
  /** Gives one text a fault. */
  query: string;
}

/** Attempts of the budget that a job had at the time: a replay begins a new one. */
const ATTEMPTS_WITH_BUDGET = `
  select a.*, j.max_attempts, (select count(*) from job_events e
    where e.job_id = a.job_id and e.kind = 'replayed' and e.at <= a.started_at) as budget
  from job_attempts a join jobs j on j.id = a.job_id`;

const RULES: Rule[] = [
  {
    name: "a job has not ended",
    query: "select id || ' is ' || status as fault from jobs where finished_at is null",
  },
  {
    name: "a history row is missing",
    query: `select j.id || ' has ' || j.attempts || ' attempts and the history ' ||
        coalesce(string_agg(a.number::text, ',' order by a.number), 'of none') as fault
      from jobs j left join job_attempts a on a.job_id = j.id
      group by j.id, j.attempts
      having coalesce(array_agg(a.number order by a.number) filter (where a.number is not null), '{}')
        <> array(select generate_series(1, j.attempts))`,
  },
  {
    name: "a completed attempt is not its job's last and final one (a stale write)",
    query: `select a.job_id || ' completed in attempt ' || a.number || ' and is ' || j.status as fault
      from job_attempts a join jobs j on j.id = a.job_id
      where a.outcome = 'completed' and (j.status <> 'completed' or a.number <> j.attempts)`,
  },
  {
    name: "a job's state is not what its last attempt came to (a stale write)",
    query: `select j.id || ' is ' || j.status || ' after ' || a.outcome as fault
      from jobs j join job_attempts a on a.job_id = j.id and a.number = j.attempts
      where j.status = 'completed' and a.outcome <> 'completed'
        or j.status = 'dead_letter' and a.outcome not in ('dead_letter', 'lease_expired')
        or j.status = 'completed' and j.result_json is null`,
  },
  {
    name: "two attempts of one job overlap in the history",
    query: `select a.job_id || ' attempts ' || a.number || ' and ' || b.number as fault
      from job_attempts a join job_attempts b on b.job_id = a.job_id and b.number > a.number
      -- A claim may have begun, and taken its time, a moment before the finish that it then saw.
      where b.started_at < a.finished_at - interval '2 seconds'`,
  },
  {
    name: "a lease was taken before it had run out",
    query: `select job_id || ' attempt ' || number || ' after ' || (finished_at - started_at) as fault
      from job_attempts where outcome = 'lease_expired'
        and finished_at < started_at + interval '${LEASE_SECONDS} seconds'`,
  },
  {
    name: "a job was attempted more often than its maximum",
    query: `select job_id || ' used ' || count(*) || ' of ' || max_attempts as fault
      from (${ATTEMPTS_WITH_BUDGET}) a where outcome <> 'snoozed'
      group by job_id, budget, max_attempts having count(*) > max_attempts`,
  },
  {
    name: "an idempotency key made two jobs",
    query: `select idempotency_key as fault from jobs
      where idempotency_key in (select idempotency_key from idempotency_records
        where operation not like '%batch%')
      group by tenant, idempotency_key having count(*) > 1`,
  },
  {
    name: "a lock was left behind",
    query: "select id::text as fault from jobs where lock_token is not null",
  },
];

/** Looks for rows that break a rule. */
export async function rowFaults(pool: pg.Pool): Promise<string[]> {
  const faults: string[] = [];
  for (const { name, query } of RULES) {
    const { rows } = await pool.query<{ fault: string }>(query);
    faults.push(...rows.map(({ fault }) => `${name}: ${fault}`));
  }
  return faults;
}

/** What clients were told must be true: accepted jobs are there, and a key has its one job. */
export async function promiseFaults(pool: pg.Pool, told: Told): Promise<string[]> {
  const { rows } = await pool.query<{ id: string; idempotency_key: string }>(
    "select id, idempotency_key from jobs",
  );
  const ids = new Set(rows.map(({ id }) => id));
  const byKey = Map.groupBy(rows, ({ idempotency_key }) => idempotency_key);
  const lost = [...told.jobIds]
    .filter((id) => !ids.has(id))
    .map((id) => `accepted and lost: ${id}`);
  const doubled = [...told.keysWithNewJob].flatMap(([key, jobId]) => {
    const made = byKey.get(key)?.map(({ id }) => id) ?? [];
    return made.length === 1 && made[0] === jobId
      ? []
      : [`key ${key} was answered with ${jobId} and made ${made.join(", ") || "nothing"}`];
  });
  return [...told.contradictions, ...lost, ...doubled];
}

/** Watches, beside the index that forbids it, that no dedupe key has two active jobs. */
export async function watchDedupeKeys(pool: pg.Pool, faults: Set<string>): Promise<void> {
  const { rows } = await pool.query<{ fault: string }>(
    `select job_type || ' ' || dedupe_key as fault from jobs
     where dedupe_key is not null and status in ('queued', 'failed', 'processing')
       and (dedupe_until = 'finished' or attempts = attempts_before_replay)
     group by tenant, job_type, dedupe_key having count(*) > 1`,
  );
  for (const { fault } of rows) faults.add(`a dedupe key with two active jobs: ${fault}`);
}

/** Effects that must not run again while nobody knows how they ended, as `job/name`. */
export async function atMostOnceEffects(pool: pg.Pool): Promise<Set<string>> {
  const { rows } = await pool.query<{ effect: string }>(
    `select j.id || '/' || (e ->> 'name') as effect
     from jobs j, jsonb_array_elements(j.payload_json -> 'effects') as e
     where e ->> 'ifUnknown' = 'dead_letter'`,
  );
  return new Set(rows.map(({ effect }) => effect));
}
