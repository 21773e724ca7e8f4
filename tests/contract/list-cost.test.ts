import { randomUUID } from "node:crypto";
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { explain } from "../../bench/explain.js";
import { fill, mixed } from "../../bench/fill.js";
import type { JobFilter, ListPosition } from "../../src/core/listing.js";
import { groupDeadLetters } from "../../src/storage/sql/group-dead-letters.js";
import { listJobs } from "../../src/storage/sql/list-jobs.js";
import { readHistory } from "../../src/storage/sql/read-history.js";
import { readRecent } from "../../src/storage/sql/read-recent.js";
import { readStats } from "../../src/storage/sql/read-stats.js";
import { readTimeline } from "../../src/storage/sql/read-timeline.js";
import { type TestDatabase, takeTestDatabase } from "../support/database.js";

// Both bounds are smaller than the application's, so that a table is already large that is quick to
// fill: what is shown is that they bound what is read.
const ROWS = 30_000;
const ENTRIES_MAX = 600;
const COUNT_MAX = 300;
const TENANT = { tenant: "acme", keyName: "acme" };
const ADMIN = { tenant: null, keyName: "ops" };
const ALL: JobFilter = {
  statuses: [],
  types: [],
  dedupeKey: null,
  createdAfter: null,
  createdBefore: null,
};

/** From the middle of the table on there is none; too many jobs wait to look at all that do. */
const WALK: Partial<JobFilter> = { statuses: ["processing", "failed"] };
/** Of a page that its index answers, in rows and in buffers alike. */
const INDEXED_MAX = 500;
/** Of a page that looks at each entry that it may, after counting two kinds of live jobs in vain. */
const WALK_MAX = 3 * ENTRIES_MAX + INDEXED_MAX;

let database: TestDatabase;
let client: pg.PoolClient;
let doneJobId: string;
let middle: ListPosition;

beforeAll(async () => {
  database = await takeTestDatabase({ fresh: true });
  client = await database.pg.connect();
  await client.query("set statement_timeout = 0");
  ({ doneJobId } = await fill(client, mixed(ROWS)));
  // Far down, so that whoever walks the table has a long way to them.
  await client.query(
    `insert into jobs (id, tenant, job_type, status, priority, max_attempts, payload_json,
       dedupe_key, last_error, created_at, updated_at, finished_at)
     select gen_random_uuid(), case when n < 10 then 'globex' else 'acme' end, 'bench.rare',
       'dead_letter', 0, 8, '{}', 'key', '{"code": "fatal"}', now() - interval '3 days', now(), now()
     from generate_series(1, 20) n`,
  );
  await client.query("vacuum analyze jobs");
  const { rows } = await client.query<{ id: string; micros: string }>(
    `select id, (extract(epoch from created_at) * 1000000)::bigint as micros from jobs
     where tenant = 'acme' order by created_at desc, id desc offset $1 limit 1`,
    [ROWS / 2],
  );
  middle = { id: rows[0]?.id ?? "", createdAtMicros: Number(rows[0]?.micros) };
});
afterAll(async () => {
  client?.release();
  await database?.release();
});

describe.each([
  ["a tenant's key", TENANT],
  ["an admin's key", ADMIN],
])(`in a table of ${ROWS} jobs, for %s`, (_, actor) => {
  const LISTS: [string, Partial<JobFilter>, number][] = [
    ["everything", {}, INDEXED_MAX],
    ["one type", { types: ["bench.busy"] }, INDEXED_MAX],
    ["two types", { types: ["bench.busy", "bench.rare"] }, INDEXED_MAX],
    ["a type that hardly occurs", { types: ["bench.rare"] }, INDEXED_MAX],
    ["a type without jobs", { types: ["bench.none"] }, INDEXED_MAX],
    ["dead letters", { statuses: ["dead_letter", "cancelled"] }, INDEXED_MAX],
    [
      "dead letters of another type",
      { statuses: ["dead_letter"], types: ["bench.busy"] },
      INDEXED_MAX,
    ],
    ["a dedupe key", { dedupeKey: "key" }, INDEXED_MAX],
    ["a dedupe key that nobody used", { dedupeKey: "none" }, INDEXED_MAX],
    ["a state that many jobs have", { statuses: ["completed"] }, INDEXED_MAX],
    ["the few running jobs", { statuses: ["processing"] }, WALK_MAX],
    ["what hardly occurs among many", WALK, WALK_MAX],
    ["a long time ago", { ...WALK, createdBefore: "2001-01-01T00:00:00.000Z" }, WALK_MAX],
  ];

  test.each(LISTS)("a page of %s reads little", async (_name, filter, max) => {
    for (const after of [null, middle]) {
      const page = { limit: 50, after, entriesMax: ENTRIES_MAX };
      const cost = await explain(client, (db) => listJobs(db, { ...ALL, ...filter }, actor, page));
      expect(cost.rowsRead).toBeLessThanOrEqual(max);
      expect(cost.buffers).toBeLessThanOrEqual(max);
    }
  });

  test("the statistics read little", async () => {
    const cost = await explain(client, (db) => readStats(db, actor, COUNT_MAX));
    // Five ranges, and whose attempts those of the last hour are.
    expect(cost.rowsRead).toBeLessThanOrEqual(6 * COUNT_MAX);
    expect(cost.buffers).toBeLessThanOrEqual(6 * COUNT_MAX);
  });

  test("the dashboard's first page reads little, and so does that of dead letters (S07)", async () => {
    const { tenant } = actor;
    const buckets = { count: 12, seconds: 300 };
    const recent = await explain(client, (db) => readRecent(db, tenant, buckets, COUNT_MAX));
    const history = await explain(client, (db) => readHistory(db, buckets));
    const groups = await explain(client, (db) => groupDeadLetters(db, tenant, COUNT_MAX));
    for (const cost of [recent, history, groups]) {
      expect(cost.rowsRead).toBeLessThanOrEqual(3 * COUNT_MAX);
      expect(cost.buffers).toBeLessThanOrEqual(5 * COUNT_MAX);
    }
  });

  test.each([
    ["a job that ran", () => doneJobId],
    ["no job", randomUUID],
  ])("the timeline of %s reads little", async (_name, jobId) => {
    const cost = await explain(client, (db) => readTimeline(db, jobId(), actor, 1000));
    expect(cost.rowsRead).toBeLessThanOrEqual(10);
    expect(cost.buffers).toBeLessThanOrEqual(40);
  });
});

test("control: a page without a bound on its entries walks the table", async () => {
  const page = { limit: 50, after: middle, entriesMax: ROWS };
  const cost = await explain(client, (db) => listJobs(db, { ...ALL, ...WALK }, TENANT, page));
  expect(cost.rowsRead).toBeGreaterThan(3 * WALK_MAX);
});
