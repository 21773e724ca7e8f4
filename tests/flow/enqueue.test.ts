import { neon } from "@neondatabase/serverless";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { defineJob, type Json } from "../../src/core/define-job.js";
import { EnqueueRefusedError } from "../../src/engine/resolve-job.js";
import { createWorld, KEYS, type World, worldForTest } from "../support/world.js";

const greet = defineJob({
  type: "test.greet",
  payload: z.strictObject({ name: z.string() }),
  dedupe: { key: ({ name }) => (name === "unkeyed" ? undefined : name) },
  run: ({ payload }) => ({ greeting: `Hello, ${payload.name}!` }),
});
const job = (name: string) => ({ type: "test.greet", payload: { name } });

describe("jobs from code in the same deployment", () => {
  test("enqueue creates a job of the tenant, publishes it, and it runs", async () => {
    const world = await worldForTest({ jobs: [greet] });
    const { jobId, created } = await world.instance.app.jobsOf("acme").enqueue(job("Ana"));
    expect(created).toBe(true);
    await world.qstash.deliverDue();
    expect(await world.job(jobId)).toMatchObject({
      status: "completed",
      result: { greeting: "Hello, Ana!" },
    });
    expect((await world.request("GET", `/api/jobs/${jobId}`, { secret: KEYS.acme })).status).toBe(
      200,
    );
    expect((await world.request("GET", `/api/jobs/${jobId}`, { secret: KEYS.globex })).status).toBe(
      404,
    );
  });

  test("an active job with the dedupe key is given instead of a second one", async () => {
    const world = await worldForTest({ jobs: [greet] });
    const { enqueue } = world.instance.app.jobsOf("acme");
    const first = await enqueue(job("Ana"));
    expect(await enqueue(job("Ana"))).toEqual({ jobId: first.jobId, created: false });
    expect(await world.instance.app.jobsOf("globex").enqueue(job("Ana"))).toMatchObject({
      created: true,
    });
    expect(world.qstash.pending()).toHaveLength(2);
  });

  test("a payload that its type refuses creates nothing, and every place is named", async () => {
    const world = await worldForTest({ jobs: [greet] });
    const refused = world.instance.app
      .jobsOf("acme")
      .enqueue({ type: "test.greet", payload: { name: 1 } });
    await expect(refused).rejects.toThrow(EnqueueRefusedError);
    await expect(refused).rejects.toThrow(/payload\.name/);
    const { rows } = await world.database.pg.query("select count(*)::int as count from jobs");
    expect(rows).toEqual([{ count: 0 }]);
  });

  test("a lost answer does not make two jobs", async () => {
    const world = await worldForTest({ jobs: [greet] });
    world.database.neon.setFault({ action: "lose-answer", nth: 1 });
    const { jobId, created } = await world.instance.app.jobsOf("acme").enqueue(job("unkeyed"));
    expect(created).toBe(true);
    const { rows } = await world.database.pg.query("select id from jobs");
    expect(rows).toEqual([{ id: jobId }]);
  });
});

describe("a job that could not be kept as code asks for it is refused before anything is written", () => {
  const anything = defineJob({ type: "test.anything", payload: z.unknown(), run: () => null });
  const dated = defineJob({
    type: "test.dated",
    payload: z.object({ at: z.date() }),
    run: () => null,
  });
  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;

  test.each<[string, string, object]>([
    ["no payload at all", "payload", { payload: undefined }],
    ["NaN", "total is NaN", { payload: { total: Number.NaN } }],
    ["Infinity", "0 is Infinity", { payload: [Number.POSITIVE_INFINITY] }],
    ["NUL", "payload.größe", { payload: { größe: "a\u0000b" } }],
    ["NUL under a name with a slash", "payload.a/b~c", { payload: { "a/b~c": "\u0000" } }],
    ["a lone surrogate", "payload", { payload: "\ud800" }],
    ["a bigint", "BigInt", { payload: 1n }],
    ["a cycle", "circular", { payload: cyclic }],
    ["65 levels", "levels deep", { payload: JSON.parse("[".repeat(65) + "]".repeat(65)) }],
    [
      "a date, which the handler would see as text",
      "payload.at",
      { type: "test.dated", payload: { at: new Date(0) } },
    ],
    ["a priority of ten", "priority", { payload: 1, priority: 10 }],
    ["a negative delay", "delaySeconds", { payload: 1, delaySeconds: -1 }],
    ["an empty dedupe key", "dedupeKey", { payload: 1, dedupeKey: "" }],
    ["no attempts", "maxAttempts", { payload: 1, maxAttempts: 0 }],
    ["a delay that is no number", "delaySeconds", { payload: 1, delaySeconds: Number.NaN }],
    ["a delay of more than a year", "delaySeconds", { payload: 1, delaySeconds: 1e12 }],
    ["a time without a zone", "runAt", { payload: 1, runAt: "2027-01-01T00:00:00" }],
    ["a word for a time", "runAt", { payload: 1, runAt: "tomorrow" }],
    ["two times", "runAt", { payload: 1, runAt: "2027-01-01T00:00:00Z", delaySeconds: 1 }],
    ["a misspelt option", "dedupekey", { payload: 1, dedupekey: "a" }],
  ])("%s", async (_, place, given) => {
    const world = await sharedWorld();
    const { enqueue, enqueueStatement } = world.instance.app.jobsOf("acme");
    const asked = { type: "test.anything", ...given } as Parameters<typeof enqueue>[0];
    for (const refused of [enqueue(asked), enqueueStatement(asked)]) {
      await expect(refused).rejects.toThrow(EnqueueRefusedError);
      await expect(refused).rejects.toThrow(place);
    }
    const { rows } = await world.database.pg.query("select count(*)::int as count from jobs");
    expect(rows).toEqual([{ count: 0 }]);
  });

  test("what JSON leaves out or writes as text is kept as JSON has it", async () => {
    const world = await worldForTest({ jobs: [anything] });
    const payload = { at: new Date(0), absent: undefined, zero: -0 } as unknown as Json;
    const { jobId } = await world.instance.app
      .jobsOf("acme")
      .enqueue({ type: "test.anything", payload, priority: undefined });
    expect((await world.job(jobId)).payload).toEqual({ at: "1970-01-01T00:00:00.000Z", zero: 0 });
  });

  /** Refusals leave nothing behind, so they can share a database. */
  let world: World | undefined;
  afterAll(() => world?.close());
  const sharedWorld = async () => {
    world ??= await createWorld({ jobs: [anything, dated] });
    return world;
  };
});

describe("a job in the caller's own transaction", () => {
  const setUp = async () => {
    const world = await worldForTest({ jobs: [greet] });
    await world.database.pg.query("create table invoices (number int primary key)");
    onTestFinished(async () => void (await world.database.pg.query("drop table invoices")));
    // The instance has told the driver where this database's endpoint is.
    const sql = neon(world.database.url);
    const { jobId, statement } = await world.instance.app
      .jobsOf("acme")
      .enqueueStatement(job("Ana"));
    const create = (number: number) =>
      sql.transaction([
        sql.query("insert into invoices values ($1)", [number]),
        sql.query(statement.text, statement.params),
      ]);
    return { world, jobId, create };
  };

  test("exists when the business row does, and runs after a nudge", async () => {
    const { world, jobId, create } = await setUp();
    await create(1);
    expect(world.qstash.pending()).toEqual([]);
    await world.instance.app.jobsOf("acme").nudge([jobId]);
    await world.instance.app.jobsOf("acme").nudge([jobId]);
    expect(world.qstash.pending()).toHaveLength(1);
    await world.qstash.deliverDue();
    expect(await world.job(jobId)).toMatchObject({ status: "completed" });
  });

  test("is rolled back with it", async () => {
    const { world, jobId, create } = await setUp();
    await world.database.pg.query("insert into invoices values (1)");
    await expect(create(1)).rejects.toThrow(/duplicate key/);
    expect(await world.row(jobId)).toBeUndefined();
  });

  test("is published by the first sweep when nobody nudged it", async () => {
    const { world, jobId, create } = await setUp();
    await create(1);
    expect(await world.sweep()).toMatchObject({ published: 1 });
    await world.qstash.deliverDue();
    expect(await world.job(jobId)).toMatchObject({ status: "completed" });
  });
});
