/** Fills the tables as years of work would: due, scheduled, running and finished jobs. */

import { randomUUID } from "node:crypto";
import type pg from "pg";

/** Jobs to aim statements at. */
export interface Filled {
  dueJobId: string;
  doneJobId: string;
  runningJobId: string;
  runningToken: string;
}

/** As many as are kept. */
const COUNTED_MINUTES = 90 * 24 * 60;

/** How many jobs of each kind there are to be. */
export interface Population {
  due: number;
  /** For tomorrow, at the highest priority. */
  scheduled: number;
  running: number;
  finished: number;
}

/** A table in the middle of its life: 20 % due, 30 % scheduled, at most a thousand running. */
export function mixed(rows: number): Population {
  const running = Math.min(1_000, Math.ceil(rows / 100));
  const due = Math.floor(rows * 0.2);
  const scheduled = Math.floor(rows * 0.3);
  return { due, scheduled, running, finished: rows - due - scheduled - running };
}

/** Fills the empty tables, with 90 days of counters by the minute, and vacuums. */
export async function fill(client: pg.ClientBase, population: Population): Promise<Filled> {
  await client.query("truncate jobs, job_attempts, job_events, type_state, job_stats, stat_totals");
  const { due, scheduled, running, finished } = population;
  const insert = (count: number, columns: string, values: string) =>
    client.query(
      `insert into jobs (id, tenant, job_type, max_attempts, payload_json, created_at, updated_at, priority, ${columns})
       select gen_random_uuid(), 'acme', 'bench.busy', 8, '{"to":"someone@example.com"}',
         now() - make_interval(secs => n), now(), ${values}
       from generate_series(1, $1::int) n`,
      [count],
    );
  const waiting = "status, next_run_at, next_trigger_at, triggered_at";
  await insert(
    due,
    waiting,
    "0, 'queued', now() - make_interval(secs => n % 300), now() + interval '10 min', now()",
  );
  await insert(
    scheduled,
    waiting,
    "9, 'queued', now() + interval '1 day', now() + interval '1 day', now()",
  );
  await insert(
    running,
    "status, attempts, started_at, attempt_started_at, lock_token, lock_until",
    "0, 'processing', 1, now(), now(), gen_random_uuid(), now() + interval '10 min'",
  );
  await insert(
    finished,
    "status, attempts, started_at, finished_at",
    "0, 'completed', 1, now(), now() - make_interval(secs => n % 86400)",
  );
  await client.query(
    `insert into job_attempts (job_id, lock_token, number, job_type, started_at, finished_at, outcome)
     select id, gen_random_uuid(), 1, job_type, finished_at, finished_at, 'completed'
     from jobs where status = 'completed'`,
  );
  await client.query(
    `insert into job_stats (minute, job_type, measure, label, shard, count)
     select date_trunc('minute', now()) - make_interval(mins => n), 'bench.busy', 'attempt',
       'completed', 0, 1
     from generate_series(1, $1::int) n`,
    [Math.min(COUNTED_MINUTES, finished)],
  );
  await client.query(
    `insert into stat_totals (job_type, measure, label, count)
     values ('bench.busy', 'attempt', 'completed', $1)`,
    [finished],
  );
  await client.query("vacuum analyze");
  const one = async (condition: string): Promise<{ id: string; lock_token: string | null }> => {
    const { rows: found } = await client.query<{ id: string; lock_token: string | null }>(
      `select id, lock_token from jobs where ${condition} limit 1`,
    );
    return found[0] ?? { id: randomUUID(), lock_token: null };
  };
  const { id: dueJobId } = await one("next_run_at <= now()");
  const { id: doneJobId } = await one("status = 'completed'");
  const held = await one("status = 'processing'");
  return { dueJobId, doneJobId, runningJobId: held.id, runningToken: held.lock_token ?? "" };
}
