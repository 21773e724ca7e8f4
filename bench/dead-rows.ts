/**
 * What dead rows cost until a vacuum comes: by the share of them that PostgreSQL waits for.
 *
 * Run: npm run bench:dead-rows -- [rows]   (default 500,000, which takes some minutes)
 */

import type pg from "pg";
import { v7 as uuidv7 } from "uuid";
import type { Database } from "../src/storage/client.js";
import { claim } from "../src/storage/sql/claim.js";
import { claimDue } from "../src/storage/sql/claim-due.js";
import { pruneJobs } from "../src/storage/sql/prune-jobs.js";
import { takeUnpublished } from "../src/storage/sql/take-unpublished.js";
import { takeVanished } from "../src/storage/sql/take-vanished.js";
import { explain } from "./explain.js";
import { fill, mixed } from "./fill.js";
import { onStage } from "./stage.js";

/** What a table may gather by our setting, and by PostgreSQL's own. */
const SHARES = [0.05, 0.2];
const JOBS_PER_STATEMENT = 200;
/** A claim and a finish leave a dead version of the row each. */
const DEAD_ROWS_PER_JOB = 2;

const rows = Number(process.argv[2] ?? 500_000);

async function main(): Promise<void> {
  await onStage({ settings: { autovacuum: "off" } }, async ({ client }) => {
    console.log(`${rows.toLocaleString("en")} jobs`);
    for (const share of SHARES) {
      await fill(client, mixed(rows));
      await agePartly(client);
      await report(client, "after a vacuum");
      const jobs = Math.round((rows * share) / DEAD_ROWS_PER_JOB);
      await runJobs(client, jobs);
      await report(client, `${jobs.toLocaleString("en")} jobs later, ${share * 100} % dead rows`);
      // What a sweep leaves behind that prunes, and what the next one then walks over.
      const pruned = await pruneMany(client, Math.round(rows * share));
      await report(client, `and ${pruned.toLocaleString("en")} jobs pruned`);
      await client.query("vacuum analyze");
      await report(client, "after the next vacuum");
    }
  });
}

/** Half of what is finished is past its retention. */
async function agePartly(client: pg.ClientBase): Promise<void> {
  await client.query(
    `update jobs set finished_at = now() - interval '20 days' - random() * interval '5 days'
     where finished_at is not null and random() < 0.5`,
  );
  await client.query("vacuum full analyze jobs");
}

/** Claims and finishes due jobs as deliveries do, a few at a time. */
async function runJobs(client: pg.ClientBase, jobs: number): Promise<void> {
  for (let done = 0; done < jobs; done += JOBS_PER_STATEMENT) {
    const count = Math.min(JOBS_PER_STATEMENT, jobs - done);
    const { rows: claimed } = await client.query<{ id: string }>(
      `with due as (select id from jobs where job_type = 'bench.busy' and priority = 0
         and next_run_at <= now() order by next_run_at limit ${count} for update skip locked)
       update jobs j set status = 'processing', attempts = attempts + 1, next_run_at = null,
         next_trigger_at = null, lock_token = gen_random_uuid(),
         lock_until = now() + interval '1 minute', started_at = now(), attempt_started_at = now(),
         claimed_by_message = 'msg_' || j.id, updated_at = now()
       from due where j.id = due.id returning j.id`,
    );
    await client.query(
      `update jobs set status = 'completed', lock_token = null, lock_until = null,
         finished_at = now(), updated_at = now() where id = any($1)`,
      [claimed.map(({ id }) => id)],
    );
  }
}

async function pruneMany(client: pg.ClientBase, jobs: number): Promise<number> {
  const { rowCount } = await client.query(
    `delete from jobs where id in (select id from jobs
       where finished_at < now() - interval '14 days' order by finished_at limit ${jobs})`,
  );
  return rowCount ?? 0;
}

async function report(client: pg.ClientBase, title: string): Promise<void> {
  const { rows: sizes } = await client.query<{ heap: string; indexes: string }>(
    `select pg_size_pretty(pg_table_size('jobs')) as heap,
       pg_size_pretty(pg_indexes_size('jobs')) as indexes`,
  );
  console.log(`\n${title}: table ${sizes[0]?.heap}, indexes ${sizes[0]?.indexes}`);
  const named = await client.query<{ id: string }>(
    "select id from jobs where next_run_at <= now() limit 1",
  );
  for (const [name, call] of calls(named.rows[0]?.id ?? uuidv7())) {
    const first = await explain(client, call);
    // The first walk over dead index entries marks them, for everybody after it.
    const second = await explain(client, call);
    const text = `${first.buffers} buffers, ${first.executionMs.toFixed(1)} ms`;
    const again = `again ${second.buffers}, ${second.executionMs.toFixed(1)} ms`;
    console.log(`  ${name.padEnd(28)} ${text.padStart(28)}   ${again}`);
  }
}

function calls(dueJobId: string): [string, (db: Database) => Promise<unknown>][] {
  const types = [
    { type: "bench.busy", publish: true, leaseSeconds: 60, delays: [30], jitterSeconds: 15 },
  ];
  const delivery = {
    type: "bench.busy",
    seq: 1,
    lockToken: uuidv7(),
    messageId: "msg_bench",
    unknownIsPermit: false,
    leases: { "bench.busy": 60 },
  };
  const take = () => ({ takeId: uuidv7(), unpublishedTypes: [], limit: 500 });
  return [
    ["claim, named job is due", (db) => claim(db, { ...delivery, jobId: dueJobId })],
    ["claim without a delivery", (db) => claimDue(db, types, uuidv7())],
    ["sweep: not published, none", (db) => takeUnpublished(db, take())],
    ["sweep: vanished, none", (db) => takeVanished(db, take())],
    ["sweep: retention", (db) => pruneJobs(db, { finishedDays: 14, deadLetterDays: 90 }, 100)],
  ];
}

await main();
