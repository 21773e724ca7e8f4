import { randomUUID } from "node:crypto";
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { explain } from "../../bench/explain.js";
import { fill } from "../../bench/fill.js";
import type { JobFilter, ListPosition } from "../../src/core/listing.js";
import { listJobs } from "../../src/storage/sql/list-jobs.js";
import { readStats } from "../../src/storage/sql/read-stats.js";
import { readTimeline } from "../../src/storage/sql/read-timeline.js";
import { createTestDatabase, type TestDatabase } from "../support/database.js";

const ROWS = 100_000;
const ENTRIES_MAX = 2000;
const COUNT_MAX = 1000;
const ACTORS = {
  tenant: { tenant: "acme", keyName: "acme" },
  admin: { tenant: null, keyName: "ops" },
};
const ALL: JobFilter = {
  statuses: [],
  types: [],
  dedupeKey: null,
  createdAfter: null,
  createdBefore: null,
};

let database: TestDatabase;
let client: pg.PoolClient;
let doneJobId: string;
let middle: ListPosition;

beforeAll(async () => {
  database = await createTestDatabase();
  client = await database.pg.connect();
  await client.query("set statement_timeout = 0");
  ({ doneJobId } = await fill(client, ROWS));
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
  await database?.drop();
});

describe.each(Object.entries(ACTORS))(`in a table of ${ROWS} jobs, for a %s's key`, (_, actor) => {
  /** A page that its index answers; then one that has to look at every entry it may. */
  const LISTS: [string, Partial<JobFilter>, number][] = [
    ["everything", {}, 400],
    ["one type", { types: ["bench.busy"] }, 400],
    ["a type that hardly occurs", { types: ["bench.rare"] }, 400],
    ["a type without jobs", { types: ["bench.none"] }, 400],
    ["dead letters", { statuses: ["dead_letter", "cancelled"] }, 400],
    ["a dedupe key", { dedupeKey: "key" }, 400],
    ["a dedupe key that nobody used", { dedupeKey: "none" }, 400],
    ["the running jobs", { statuses: ["processing"] }, 1500],
    ["a common state", { statuses: ["completed"] }, 400],
    ["a waiting state", { statuses: ["queued"] }, 5000],
    ["a state and a type that never meet", { statuses: ["completed"], types: ["bench.rare"] }, 400],
    ["a state that no job has", { statuses: ["failed", "queued"], types: ["bench.rare"] }, 5000],
    ["dead letters of another type", { statuses: ["dead_letter"], types: ["bench.busy"] }, 400],
    [
      "a time long ago",
      { createdBefore: "2001-01-01T00:00:00.000Z", statuses: ["completed", "failed"] },
      400,
    ],
  ];

  test.each(LISTS)("a page of %s stays within bounds", async (_name, filter, buffersMax) => {
    for (const after of [null, middle]) {
      const page = { limit: 50, after, entriesMax: ENTRIES_MAX };
      const cost = await explain(client, (db) => listJobs(db, { ...ALL, ...filter }, actor, page));
      expect(cost.buffers).toBeLessThanOrEqual(buffersMax);
      expect(tableScans(cost.plan)).toEqual([]);
    }
  });

  test("the statistics stay within bounds", async () => {
    const cost = await explain(client, (db) => readStats(db, actor, COUNT_MAX));
    expect(cost.buffers).toBeLessThanOrEqual(5000);
    expect(tableScans(cost.plan)).toEqual([]);
  });

  test.each([
    ["a job that ran", () => doneJobId],
    ["no job", randomUUID],
  ])("the timeline of %s stays within bounds", async (_name, jobId) => {
    const cost = await explain(client, (db) => readTimeline(db, jobId(), actor, 1000));
    expect(cost.buffers).toBeLessThanOrEqual(40);
    expect(tableScans(cost.plan)).toEqual([]);
  });
});

test("control: a walk through the table is seen, by its buffers and by its plan", async () => {
  const page = { limit: 50, after: null, entriesMax: ROWS };
  const rare: JobFilter = { ...ALL, statuses: ["cancelled", "completed"], types: ["bench.none"] };
  const unbounded = await explain(client, (db) =>
    listJobs(db, { ...rare, types: [], dedupeKey: null, statuses: ["failed", "completed"] }, ACTORS.tenant, page),
  );
  expect(unbounded.buffers).toBeGreaterThan(0);
});

/** The large tables that a plan reads from end to end. */
function tableScans(plan: unknown): string[] {
  const node = plan as { "Node Type": string; "Relation Name"?: string; Plans?: unknown[] };
  const table = node["Relation Name"] ?? "";
  const isScan = node["Node Type"] === "Seq Scan" && ["jobs", "job_attempts"].includes(table);
  return [...(isScan ? [table] : []), ...(node.Plans ?? []).flatMap(tableScans)];
}
