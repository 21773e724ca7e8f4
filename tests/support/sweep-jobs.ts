/** Job types for sweeps, thousands of rows in the states that production leaves, and their messages. */

import * as z from "zod";
import { defineJob, type JobDefinition, type JobOptions } from "../../src/core/define-job.js";
import type { SweepReport } from "../../src/engine/begin-sweep.js";
import type { SweepWorld } from "./sweep-world.js";

export const TYPE = "test.sweep";

/** A type that does nothing, with a backoff that can be told, unless a test says otherwise. */
export function sweepType(options: Partial<JobOptions<z.core.$ZodType>> = {}): JobDefinition {
  return defineJob({
    type: TYPE,
    payload: z.unknown(),
    backoff: { baseSeconds: 30, maxSeconds: 3600, jitterSeconds: 0 },
    run: () => null,
    ...options,
  });
}

export interface WaitingJobs {
  count: number;
  type?: string;
  /** From now; the past is negative. */
  dueInSeconds?: number;
  /** How much later than the one before each is due. */
  everySeconds?: number;
  /** False: their publish is known to have failed. */
  published?: boolean;
  maxAttempts?: number;
}

/** Inserts jobs as `create` leaves them; gives their ids, first due first. */
export async function insertWaiting(world: SweepWorld, jobs: WaitingJobs): Promise<string[]> {
  const rows = await world.query<{ id: string }>(
    `with clock as materialized (select now() as now), job as (
       select n, gen_random_uuid() as id,
         now + make_interval(secs => $3::float8 + n * $4::float8) as due, now
       from clock, generate_series(0, $2::int - 1) as n),
     inserted as (
       insert into jobs (id, tenant, job_type, status, priority, max_attempts, payload_json,
         idempotency_key, next_run_at, next_trigger_at, triggered_at, created_at, updated_at)
       select id, 'acme', $1, 'queued', 0, $6, jsonb_build_object('n', n), 'key-' || id, due,
         due + interval '10 minutes', case when $5::boolean then least(now, due) end,
         least(now, due), least(now, due)
       from job)
     select id from job order by n`,
    [
      jobs.type ?? TYPE,
      jobs.count,
      jobs.dueInSeconds ?? 0,
      jobs.everySeconds ?? 0,
      jobs.published ?? true,
      jobs.maxAttempts ?? 8,
    ],
  );
  return rows.map(({ id }) => id);
}

export interface LostJobs {
  count: number;
  type?: string;
  /** How long ago the lease of the first ran out; each next one ran out a second later. */
  expiredSecondsAgo?: number;
  attempts?: number;
  maxAttempts?: number;
  cancelRequested?: boolean;
}

/** Inserts jobs as a claim leaves them whose process then died; gives their ids, oldest lease first. */
export async function insertLost(world: SweepWorld, jobs: LostJobs): Promise<string[]> {
  const rows = await world.query<{ id: string }>(
    `with clock as materialized (select now() as now), job as (
       select n, gen_random_uuid() as id,
         now - make_interval(secs => $3::float8 - n) as expired
       from clock, generate_series(0, $2::int - 1) as n),
     inserted as (
       insert into jobs (id, tenant, job_type, status, priority, attempts, max_attempts,
         payload_json, idempotency_key, lock_token, lock_until, claimed_by_message, started_at,
         attempt_started_at, triggered_at, cancel_requested_at, created_at, updated_at)
       select id, 'acme', $1, 'processing', 0, $4, $5, '{}', 'key-' || id, gen_random_uuid(),
         expired, 'msg_' || id, expired - interval '1 minute', expired - interval '1 minute',
         expired - interval '1 minute', case when $6::boolean then expired end,
         expired - interval '2 minutes', expired - interval '1 minute'
       from job)
     select id from job order by n`,
    [
      jobs.type ?? TYPE,
      jobs.count,
      jobs.expiredSecondsAgo ?? jobs.count + 1,
      jobs.attempts ?? 1,
      jobs.maxAttempts ?? 8,
      jobs.cancelRequested ?? false,
    ],
  );
  return rows.map(({ id }) => id);
}

/** Ends the longest due jobs as if deliveries had run them evenly over the last so many seconds. */
export async function runInSql(
  world: SweepWorld,
  count: number,
  overSeconds: number,
  type = TYPE,
): Promise<void> {
  await world.query(
    `with clock as materialized (select now() as now), chosen as (
       select id, row_number() over (order by next_run_at) as nth from jobs
       where job_type = $3 and next_run_at <= now() order by next_run_at limit $1),
     done as (
       update jobs j set status = 'completed', attempts = attempts + 1, next_run_at = null,
         next_trigger_at = null, started_at = now, finished_at = now
       from chosen, clock where j.id = chosen.id returning j.id, chosen.nth, now)
     insert into job_attempts (job_id, lock_token, number, job_type, started_at, finished_at, outcome)
     select id, gen_random_uuid(), 1, $3, at, at, 'completed' from (
       select id, now - make_interval(secs => $2::float8 * (nth - 1) / $1) as at from done) spread`,
    [count, overSeconds, type],
  );
}

/** A wake-up message that waits in the stand-in. */
export interface WaitingMessage {
  messageId: string;
  jobId: string;
  type: string;
  seq: number;
  /** Seconds from the stand-in's present. */
  dueInSeconds: number;
}

/** The messages that wait, in the order in which they are due. */
export function messagesOf({ qstash }: SweepWorld): WaitingMessage[] {
  const now = qstash.now();
  return qstash.pending().map(({ messageId, body, dueAt }) => {
    const { jobId, type, seq } = JSON.parse(body) as Omit<WaitingMessage, "messageId">;
    return { messageId, jobId, type, seq, dueInSeconds: (dueAt - now) / 1000 };
  });
}

/** Loses every message that waits: as far as the stand-in goes, they were never sent. */
export function loseMessages(world: SweepWorld): void {
  for (const { messageId } of messagesOf(world)) world.qstash.drop(messageId);
}

/** Sweeps at a distance for so long, and gives the reports. */
export async function sweepFor(
  world: SweepWorld,
  time: { minutes: number; everyMinutes: number },
  beforeEach: () => void | Promise<void> = () => {},
): Promise<SweepReport[]> {
  const reports: SweepReport[] = [];
  for (let minute = 0; minute < time.minutes; minute += time.everyMinutes) {
    await world.advance(time.everyMinutes * 60);
    await beforeEach();
    reports.push(await world.sweep());
  }
  return reports;
}

/** How many jobs are in each state. */
export async function countByStatus(world: SweepWorld): Promise<Record<string, number>> {
  const rows = await world.query<{ status: string; count: number }>(
    "select status, count(*)::int from jobs group by status",
  );
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}
