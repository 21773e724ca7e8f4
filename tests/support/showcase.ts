/** A shop in the middle of its day: every state, some trouble, and a day of history. */

import * as z from "zod";
import { defineJob, FatalError, type JobContext } from "../../src/core/define-job.js";
import type { World } from "./world.js";

type Ending = {
  /** Attempts that fail before one succeeds. */
  failures?: number;
  fatal?: { code: string; message: string };
  error?: string;
};

/** What the payload says is what happens. */
async function end({ payload, attempt, once, progress }: JobContext<unknown>) {
  const { ending = {}, ...order } = payload as { ending?: Ending };
  await progress({ done: 3, of: 5 });
  const charge = await once("charge", ({ operationId, trace }) => {
    trace({ status: 200, requestId: "req_8Hq2" });
    return { chargeId: `ch_${operationId.slice(-8, -7)}4242` };
  });
  if (ending.fatal) throw new FatalError(ending.fatal.message, { code: ending.fatal.code });
  if (attempt <= (ending.failures ?? 0)) throw new Error(ending.error ?? "The server is busy.");
  return { ...charge, ...order };
}

const type = (name: string, more: Partial<Parameters<typeof defineJob>[0]> = {}) =>
  defineJob({
    type: name,
    payload: z.unknown(),
    backoff: { baseSeconds: 30, maxSeconds: 3600, jitterSeconds: 0 },
    maxAttempts: 3,
    ...more,
    run: end,
  });

export const SHOWCASE_JOBS = [
  type("send_email", { timeoutSeconds: 30 }),
  type("sync_invoice"),
  type("charge_card", { maxAttempts: 5 }),
  type("resize_image", { flowControl: { parallelism: 5 } }),
  type("export_report", {
    runsOn: "worker",
    timeoutSeconds: 600,
    schedule: { cron: "15 2 * * *", timeZone: "Europe/Berlin" },
  }),
];

export interface Showcase {
  /** A dead letter that was replayed once. */
  jobId: string;
  waitingJobId: string;
  /** A replay of several, half of them done. */
  replayActionId: string;
}

/** Fills the world and moves it into the present, as the browser's clock tells it. */
export async function fillShowcase(world: World): Promise<Showcase> {
  await deadLetters(world);
  const replayActionId = await halfReplayed(world);
  const jobId = await twiceDead(world);
  await intoThePresent(world);
  const waitingJobId = await present(world);
  await history(world);
  await world.sweep();
  return { jobId, waitingJobId, replayActionId };
}

async function deadLetters(world: World): Promise<void> {
  const no = (code: string, message: string): Ending => ({ fatal: { code, message } });
  const letters: [string, number, Ending][] = [
    ["send_email", 4, no("address_refused", "The provider refuses the address: 550 no such user.")],
    ["charge_card", 1, no("card_expired", "The card has expired; ask the customer for another.")],
    ["resize_image", 2, no("http_404", "images.example.com answered 404")],
  ];
  for (const [name, count, ending] of letters) {
    for (let n = 1; n <= count; n++) await world.create(name, { order: 1040 + n, ending });
  }
  await world.runUntilIdle(5);
  await world.advance(1500);
}

async function twiceDead(world: World): Promise<string> {
  const error = "invoices.example.com answered 503: the ledger is closed until noon.";
  const ending: Ending = { failures: 9, error };
  const payload = { invoiceId: "inv_2041", amount: { value: "129.00", currency: "EUR" }, ending };
  const jobId = await world.create("sync_invoice", payload, { dedupeKey: "invoice:inv_2041" });
  await world.runUntilIdle(600);
  await world.request("POST", `/api/jobs/${jobId}/replay`, { body: { reason: "Ledger is open" } });
  await world.runUntilIdle(600);
  return jobId;
}

async function halfReplayed(world: World): Promise<string> {
  const ending: Ending = { failures: 3, error: "The queue of the printer is full." };
  for (let n = 1; n <= 8; n++)
    await world.create("sync_invoice", { invoiceId: `inv_${n}`, ending });
  await world.runUntilIdle(600);
  const body = { type: "sync_invoice", limit: 6 };
  await world.request("POST", "/api/dead-letters/replay", { body });
  const { rows } = await world.database.pg.query<{ id: string }>(
    "select action_id as id from job_events where kind = 'replayed'",
  );
  for (const { messageId } of world.qstash.pending().slice(0, 3))
    await world.qstash.deliver(messageId);
  for (const { messageId } of world.qstash.pending()) world.qstash.drop(messageId);
  return rows[0]?.id ?? "";
}

/** Jobs that wait, run, try again and were cancelled at this moment. */
async function present(world: World): Promise<string> {
  for (let n = 1; n <= 6; n++) await world.create("send_email", { order: 2000 + n });
  for (let n = 1; n <= 9; n++) await world.create("resize_image", { image: `img_${n}.jpg` });
  for (let n = 1; n <= 4; n++) {
    await world.create("charge_card", { order: 2040 + n }, { delaySeconds: 3600 * n });
  }
  const due = { runAt: new Date(Date.now() + 7_200_000).toISOString(), dedupeKey: "order:2060" };
  const waiting = await world.create("send_email", { order: 2060 }, due);
  const cancelled = await world.create("send_email", { order: 2100 }, { delaySeconds: 60 });
  await world.request("POST", `/api/jobs/${cancelled}/cancel`, {
    body: { reason: "sent by hand" },
  });
  await world.create("charge_card", { order: 2050, ending: { failures: 2 } });
  for (const { messageId, dueAt, body } of world.qstash.pending()) {
    if (dueAt <= world.qstash.now() && !body.includes("resize_image")) {
      await world.qstash.deliver(messageId);
    }
  }
  await world.database.pg.query(
    `update jobs set status = 'processing', attempts = 1, lock_token = gen_random_uuid(),
       lock_until = now() + interval '50 s', started_at = now() - interval '10 s',
       attempt_started_at = now() - interval '10 s', next_run_at = null, next_trigger_at = null
     where id in (select id from jobs where job_type = 'resize_image' and status = 'queued' limit 3)`,
  );
  const body = { cron: "0 * * * *", type: "sync_invoice", payload: { all: true } };
  for (const name of ["hourly-ledger", "cleanup"]) {
    await world.request("POST", "/api/schedules", { body: { ...body, name } });
  }
  await world.request("POST", "/api/schedules/cleanup/pause");
  return waiting;
}

/** Attempts of the last day, more of them at noon than at night. */
async function history(world: World): Promise<void> {
  await world.database.pg.query(
    `with past as (
       select gen_random_uuid() as id, n, (n * 7919) % 1000 / 1000.0 as share,
         now() - make_interval(secs => 86000 * pow((n * 104729) % 4001 / 4001.0, 1.3)) as at,
         (array['send_email', 'resize_image', 'sync_invoice', 'charge_card'])[1 + n % 7 % 4] as type
       from generate_series(1, 2000) n),
     job as (
       insert into jobs (id, tenant, job_type, status, priority, attempts, max_attempts,
         payload_json, started_at, attempt_started_at, finished_at, created_at, updated_at)
       select id, 'acme', type, 'completed', 0, 1, 3, '{}', at, at, at, at, at from past)
     insert into job_attempts (job_id, lock_token, number, job_type, started_at, finished_at,
       outcome, error_code, wait_seconds)
     select id, gen_random_uuid(), 1 + (share > 0.9)::int + (share > 0.97)::int, type,
       at - make_interval(secs => 0.08 + pow(share, 6) * 9), at,
       case when share > 0.985 then 'dead_letter' when share > 0.93 then 'failed' else 'completed' end,
       case when share > 0.93 then 'handler_error' end, 0.3 + pow(share, 8) * 40
     from past`,
  );
}

/** Makes the time that the world was moved on part of the past. */
async function intoThePresent({ database: { pg } }: World): Promise<void> {
  const { rows } = await pg.query<{ table_name: string; columns: string[] }>(
    `select table_name, array_agg(column_name::text) as columns from information_schema.columns
     where table_schema = 'public' and data_type = 'timestamp with time zone'
       and is_generated = 'NEVER' and table_name <> 'antrean_migrations'
     group by table_name`,
  );
  for (const { table_name: table, columns } of rows) {
    const moved = columns.map(
      (column) => `${column} = ${column} - (select value from clock.offset_by)`,
    );
    await pg.query(`update ${table} set ${moved.join(", ")}`);
  }
  await pg.query("update clock.offset_by set value = '0'");
}
