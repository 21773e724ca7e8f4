import { neon } from "@neondatabase/serverless";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob } from "../../src/core/define-job.js";
import { EnqueueRefusedError } from "../../src/engine/resolve-job.js";
import { KEYS, worldForTest } from "../support/world.js";

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

  test.each([
    [{ priority: 10 }, /^priority: /],
    [{ maxAttempts: 0 }, /^maxAttempts: /],
    [{ runAt: "infinity" }, /^runAt: must be an RFC 3339 instant/],
    [{ runAt: "2027-01-01T00:00:00" }, /^runAt: must be an RFC 3339 instant/],
    [{ delaySeconds: -1 }, /^delaySeconds: /],
    [{ delaySeconds: Number.NaN }, /^delaySeconds: /],
    [{ delaySeconds: 1, runAt: "2027-01-01T00:00:00Z" }, /^delaySeconds: /],
    [{ dedupeKey: "" }, /^dedupeKey: /],
    [{ payload: { name: "\u0000" } }, /^payload\.name: /],
  ])("%j is refused as over HTTP", async (given, message) => {
    const world = await worldForTest({ jobs: [greet] });
    const jobs = world.instance.app.jobsOf("acme");
    await expect(jobs.enqueue({ ...job("Ana"), ...given })).rejects.toThrow(EnqueueRefusedError);
    await expect(jobs.enqueueStatement({ ...job("Ana"), ...given })).rejects.toThrow(message);
  });

  test("a payload is checked as what JSON makes of it, which is what the handler gets", async () => {
    const world = await worldForTest({ jobs: [greet] });
    const { enqueue } = world.instance.app.jobsOf("acme");
    const payload = { name: new Date(0), gone: undefined } as unknown as { name: string };
    const { jobId } = await enqueue({ type: "test.greet", payload });
    expect((await world.job(jobId)).payload).toEqual({ name: "1970-01-01T00:00:00.000Z" });
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

describe("a job in the caller's own transaction", () => {
  const setUp = async () => {
    const world = await worldForTest({ jobs: [greet] });
    await world.database.pg.query("create table invoices (number int primary key)");
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
