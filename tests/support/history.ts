/** Days of traffic in a database whose clock can be moved: jobs made, run, and swept once a day. */

import type { Store } from "../../src/core/ports.js";
import type { SweepReport } from "../../src/engine/begin-sweep.js";
import { createJobs, newJob } from "./store.js";

/** A deployment as far as its history goes. */
export interface Deployment {
  store: Store;
  query<Row>(text: string, params?: unknown[]): Promise<Row[]>;
  /** Moves the database's clock on. */
  advance(seconds: number): Promise<void>;
  sweep(): Promise<SweepReport>;
}

export interface Traffic {
  type: string;
  jobsPerDay: number;
  /** Each request has an idempotency record of its own. */
  jobsPerRequest: number;
}

/** The tables that history goes into; job_stats keeps 90 days, whatever the retention of jobs. */
export const TABLES = [
  "jobs",
  "job_attempts",
  "job_effects",
  "job_events",
  "idempotency_records",
  "job_stats",
] as const;

export type RowCounts = Record<(typeof TABLES)[number], number>;

/** Makes a day's jobs at noon, lets them run through the afternoon, and sweeps at midnight. */
export async function liveOneDay(deployment: Deployment, traffic: Traffic): Promise<SweepReport> {
  const { type, jobsPerDay, jobsPerRequest } = traffic;
  await deployment.advance(43_200);
  for (let made = 0; made < jobsPerDay; made += jobsPerRequest) {
    const count = Math.min(jobsPerRequest, jobsPerDay - made);
    const jobs = Array.from({ length: count }, () => newJob({ type, payload: { to: "someone" } }));
    await createJobs(deployment.store, jobs);
  }
  await deployment.advance(43_200);
  await claimAll(deployment);
  await finishAll(deployment);
  return deployment.sweep();
}

/** As deliveries would have, but all in one statement: it leaves the same dead rows. */
async function claimAll({ query }: Deployment): Promise<void> {
  await query(
    `update jobs set status = 'processing', attempts = 1, next_run_at = null,
       next_trigger_at = null, lock_token = gen_random_uuid(), claimed_by_message = 'msg_' || id,
       lock_until = now() + interval '1 minute', started_at = now(), attempt_started_at = now()
     where status = 'queued'`,
  );
}

/** Spread over the afternoon: of fifty jobs one dies, one is cancelled, and each has an effect. */
async function finishAll({ query }: Deployment): Promise<void> {
  await query(
    `with clock as materialized (select now() as now),
     ended as (
       select id, job_type, lock_token, n % 50 as kind,
         now - interval '1 hour' - interval '10 hours' * n / count(*) over () as at
       from (select *, row_number() over (order by id) as n from jobs
         where status = 'processing') j, clock),
     changed as (
       update jobs j set finished_at = at, updated_at = at, started_at = at, attempt_started_at = at,
         lock_token = null, lock_until = null,
         status = case kind when 0 then 'dead_letter' when 1 then 'cancelled' else 'completed' end,
         last_error = case kind when 0 then '{"code": "fatal", "message": "no"}'::jsonb end
       from ended where j.id = ended.id),
     attempts as (
       insert into job_attempts (job_id, lock_token, number, job_type, started_at, finished_at,
         outcome, wait_seconds)
       select id, lock_token, 1, job_type, at, at,
         case kind when 0 then 'dead_letter' when 1 then 'cancelled' else 'completed' end, 1
       from ended),
     effects as (
       insert into job_effects (job_id, name, state, lock_token, started_at, finished_at)
       select id, 'sent', 'done', lock_token, at, at from ended)
     insert into job_events (job_id, action_id, at, kind, data)
     select id, gen_random_uuid(), at, 'published', '{"seq": 1, "why": "unpublished"}'
     from ended where kind < 5`,
  );
}

/** Counts what is in each table. */
export async function countRows({ query }: Pick<Deployment, "query">): Promise<RowCounts> {
  const counts = TABLES.map((table) => `(select count(*)::int from ${table}) as ${table}`);
  const [row] = await query<RowCounts>(`select ${counts.join(", ")}`);
  if (!row) throw new Error("a select without from gives one row");
  return row;
}
