import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { defineJob } from "../../src/core/define-job.js";
import type { Json } from "../../src/core/job.js";
import { createWorld, KEYS, PUBLIC_URL, type World } from "../support/world.js";

const note = defineJob({ type: "test.note", payload: z.unknown(), run: () => {} });
const strict = defineJob({ type: "test.strict", payload: z.object({ n: z.int() }), run: () => {} });
const slow = defineJob({
  type: "test.slow",
  payload: z.unknown(),
  runsOn: "worker",
  run: () => {},
});

let world: World;
beforeAll(async () => {
  const env = { MAX_BATCH_BODY_BYTES: "25000000" };
  world = await createWorld({ jobs: [note, strict, slow], env });
});
afterAll(() => world.close());
afterEach(() => world.qstash.refusePublishes(null));

interface Accepted {
  jobId: string;
  status: string;
  deduplicated: boolean;
  statusUrl: string;
}

const jobOf = (payload: Json, more: object = {}) => ({ type: note.type, payload, ...more });

async function post(jobs: unknown[], secret: string = KEYS.acme) {
  const response = await world.request("POST", "/api/jobs/batch", { body: { jobs }, secret });
  const { headers, status } = response;
  return { status, headers, ...((await response.json()) as { jobs: Accepted[]; code: string }) };
}

const idsOf = ({ jobs }: { jobs: Accepted[] }): string[] => jobs.map(({ jobId }) => jobId);

async function rowsOf(ids: string[]): Promise<Record<string, unknown>[]> {
  const { rows } = await world.database.pg.query(
    "select j.* from unnest($1::uuid[]) with ordinality as asked(id, at) join jobs j using (id) order by at",
    [ids],
  );
  return rows;
}

const countJobs = async (): Promise<number> =>
  (await world.database.pg.query("select count(*)::int from jobs")).rows[0].count;

test("a batch is answered in its order, one job for each, with all that each asked for", async () => {
  const answer = await post([
    jobOf({ n: 0 }, { priority: 9 }),
    { type: strict.type, payload: { n: 1 }, maxAttempts: 2 },
    jobOf({ n: 2 }, { delaySeconds: 600, dedupeKey: "two" }),
    jobOf({ n: 3 }, { runAt: "2001-01-01T00:00:00Z" }),
  ]);
  expect([answer.status, answer.headers.get("location")]).toEqual([202, null]);
  expect(answer.jobs).toEqual(
    idsOf(answer).map((jobId) => ({
      jobId,
      status: "queued",
      deduplicated: false,
      statusUrl: `${PUBLIC_URL}/api/jobs/${jobId}`,
    })),
  );
  const rows = await rowsOf(idsOf(answer));
  expect(rows.map(({ payload_json }) => payload_json)).toEqual([0, 1, 2, 3].map((n) => ({ n })));
  expect(rows).toMatchObject([
    { priority: 9, job_type: note.type, max_attempts: 8 },
    { job_type: strict.type, max_attempts: 2 },
    { dedupe_key: "two" },
    { tenant: "acme", attempts: 0 },
  ]);
  const dueIn = ({ next_run_at: due, created_at: made }: Record<string, unknown>) =>
    (Number(due) - Number(made)) / 1000;
  expect(rows.map(dueIn)).toEqual([0, 0, 600, 0]);
  await world.runUntilIdle();
  for (const id of idsOf(answer))
    expect(await world.job(id)).toMatchObject({ status: "completed" });
});

test.each([0, 501])("a batch of %i jobs is refused", async (count) => {
  const before = await countJobs();
  const answer = await post(Array.from({ length: count }, (_, n) => jobOf(n)));
  expect([answer.status, answer.code]).toEqual([422, "validation_failed"]);
  expect(await countJobs()).toBe(before);
});

test.each([
  ["a payload that its type refuses", { type: strict.type, payload: { n: "one" } }, 422],
  ["a type that is not known", { type: "test.gone", payload: {} }, 422],
  ["a member that is not known", jobOf({}, { tenant: "globex" }), 422],
  ["a job that is larger than a job may be", jobOf("x".repeat(262_144)), 413],
])("with %s among good jobs, none is accepted", async (_, bad, status) => {
  const before = [await countJobs(), world.qstash.counts().messages];
  for (const jobs of [
    [bad, jobOf(1)],
    [jobOf(1), bad, jobOf(2)],
    [jobOf(1), bad],
  ]) {
    expect((await post(jobs)).status).toBe(status);
  }
  expect([await countJobs(), world.qstash.counts().messages]).toEqual(before);
});

test("a batch that is more than the database takes in one request is refused, and nothing is written", async () => {
  const before = [await countJobs(), world.qstash.counts().messages];
  world.database.neon.requests = 0;
  const answer = await post(Array.from({ length: 60 }, () => jobOf("x".repeat(200_000))));
  expect([answer.status, answer.code]).toEqual([413, "payload_too_large"]);
  expect([await countJobs(), world.qstash.counts().messages]).toEqual(before);
  const records = "select count(*)::int from idempotency_records where response_json is null";
  expect((await world.database.pg.query(records)).rows).toEqual([{ count: 0 }]);
  expect(world.database.neon.requests).toBe(0);
});

test("what QStash did not take of a batch is known, and the next sweep publishes just that", async () => {
  await world.runUntilIdle();
  const before = world.qstash.counts().messages;
  // Two tries, and only for the first hundred.
  world.qstash.refusePublishes({ status: 500 }, { times: 2 });
  world.database.neon.requests = 0;
  const answer = await post(Array.from({ length: 150 }, (_, n) => jobOf(n)));
  expect(answer.status).toBe(202);
  expect(world.database.neon.requests).toBe(2);
  const rows = await rowsOf(idsOf(answer));
  const unpublished = rows.map(({ triggered_at }) => triggered_at === null);
  expect(unpublished).toEqual(rows.map((_, at) => at < 100));
  expect(world.qstash.counts().messages - before).toBe(50);

  expect(await world.sweep()).toMatchObject({ published: 100, publishFailures: 0 });
  expect(world.qstash.counts().messages - before).toBe(150);
  await world.runUntilIdle();
  const ended = await rowsOf(idsOf(answer));
  expect(ended.every(({ status, attempts }) => status === "completed" && attempts === 1)).toBe(
    true,
  );
});

test("jobs of types that workers run are stored with a batch, and no message is sent for them", async () => {
  const before = world.qstash.counts().messages;
  const answer = await post([jobOf(1), { type: slow.type, payload: {} }, jobOf(2)]);
  const rows = await rowsOf(idsOf(answer));
  expect(rows.map(({ triggered_at }) => triggered_at === null)).toEqual([false, true, false]);
  expect(world.qstash.counts().messages - before).toBe(2);
  await world.runUntilIdle();
});

test("a job of a paused type is stored unpublished, and the others of its batch go on", async () => {
  const path = `/api/types/${strict.type}`;
  await world.request("POST", `${path}/pause`, { secret: KEYS.admin });
  const answer = await post([{ type: strict.type, payload: { n: 1 } }, jobOf(2)]);
  const [held] = idsOf(answer);
  expect((await rowsOf(idsOf(answer))).map(({ triggered_at }) => triggered_at === null)).toEqual([
    true,
    false,
  ]);
  await world.runUntilIdle();
  expect(await world.job(held ?? "")).toMatchObject({ status: "queued", attempts: 0 });
  await world.request("POST", `${path}/resume`, { secret: KEYS.admin });
  await world.sweep();
  await world.runUntilIdle();
  expect(await world.job(held ?? "")).toMatchObject({ status: "completed", attempts: 1 });
});

test("crossed batches with the same dedupe keys end without a deadlock, one job for each key", async () => {
  const keys = Array.from({ length: 40 }, (_, at) => `crossed-${at}`);
  const keyed = (order: string[]) =>
    order.map((dedupeKey) => jobOf({}, { dedupeKey, delaySeconds: 60 }));
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, at) => post(keyed(at % 2 === 0 ? keys : keys.toReversed()))),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202));
  const fresh = answers.flatMap(({ jobs }) => jobs.filter(({ deduplicated }) => !deduplicated));
  expect(fresh).toHaveLength(40);
  expect(new Set(answers.flatMap(idsOf)).size).toBe(40);
  for (const [at, answer] of answers.entries()) {
    const inOrder = at % 2 === 0 ? answer.jobs : answer.jobs.toReversed();
    expect(idsOf({ jobs: inOrder })).toEqual(idsOf(answers[0] ?? { jobs: [] }));
  }
});
