/** A table in the middle of its life: due, scheduled, running and finished jobs. */

import { randomUUID } from "node:crypto";
import type pg from "pg";

/** Jobs to aim statements at. */
export interface Filled {
  dueJobId: string;
  doneJobId: string;
  runningJobId: string;
  runningToken: string;
}

/**
 * Fills the empty tables: 20 % due, 30 % scheduled for tomorrow at the highest priority, the rest
 * finished, and at most a thousand running; then vacuums.
 */
export async function fill(client: pg.ClientBase, rows: number): Promise<Filled> {
  await client.query("truncate jobs, job_attempts, job_events, type_state");
  const running = Math.min(1_000, Math.ceil(rows / 100));
  const due = Math.floor(rows * 0.2);
  const scheduled = Math.floor(rows * 0.3);
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
    rows - due - scheduled - running,
    "status, attempts, started_at, finished_at",
    "0, 'completed', 1, now(), now() - interval '1 hour'",
  );
  await client.query(
    `insert into job_attempts (job_id, lock_token, number, job_type, started_at, finished_at, outcome)
     select id, gen_random_uuid(), 1, job_type, finished_at, finished_at, 'completed'
     from jobs where status = 'completed'`,
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
