import { describe, expect, test } from "vitest";
import { countByStatus, loseMessages, messagesOf, sweepType, TYPE } from "../support/sweep-jobs.js";
import { type SweepWorld, setUpSweeps } from "../support/sweep-world.js";

const stage = setUpSweeps();

const DAY_SECONDS = 86_400;
/** What the free plan of QStash delays a message by at most, less an hour. */
const HOP_DAYS = 6 + 23 / 24;

/** A type that counts its runs. */
function countedType() {
  const seen = { runs: 0 };
  const definition = sweepType({
    run: () => {
      seen.runs += 1;
      return null;
    },
  });
  return { definition, seen };
}

async function createIn(world: SweepWorld, seconds: number): Promise<string> {
  const [row] = await world.query<{ at: Date }>(
    "select now() + make_interval(secs => $1::float8) as at",
    [seconds],
  );
  const runAt = row?.at.toISOString();
  const response = await world.request("POST", "/api/jobs", { type: TYPE, payload: {}, runAt });
  expect(response.status).toBe(202);
  return ((await response.json()) as { jobId: string }).jobId;
}

/** Seconds between the time a job was asked for and its start; negative would be early. */
async function startedLate(world: SweepWorld, jobId: string, askedAt: Date): Promise<number> {
  const { started_at } = await world.job(jobId);
  return ((started_at as Date).getTime() - askedAt.getTime()) / 1000;
}

async function dueAt(world: SweepWorld, jobId: string): Promise<Date> {
  return (await world.job(jobId)).next_run_at as Date;
}

describe("a delay beyond what QStash's free plan takes", () => {
  test.each([
    { name: "8 days", days: 8 },
    { name: "91 days", days: 91 },
    { name: "just under a year", days: 364.9 },
  ])("$name: accepted, one message at a time, run once and at its time (F09)", async ({ days }) => {
    const { definition, seen } = countedType();
    const world = await stage.start({ jobs: [definition], quota: "free" });
    const jobId = await createIn(world, days * DAY_SECONDS);
    const askedAt = await dueAt(world, jobId);
    expect(messagesOf(world)).toHaveLength(1);

    await world.runUntilIdle((days + 1) * DAY_SECONDS);
    expect(seen.runs).toBe(1);
    expect(await world.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
    const late = await startedLate(world, jobId, askedAt);
    expect(late).toBeGreaterThanOrEqual(0);
    // The database's clock runs on in real time while the stand-in's is driven.
    expect(late).toBeLessThan(30);
    const { messages, refusedPublishes } = world.qstash.counts();
    // A hop that ends moments early, by that same drift, is one message more.
    expect(messages).toBeGreaterThanOrEqual(Math.ceil(days / HOP_DAYS));
    expect(messages).toBeLessThanOrEqual(Math.ceil(days / HOP_DAYS) + 1);
    expect(refusedPublishes).toBe(0);
  });

  test("13 months are refused, with the place", async () => {
    const world = await stage.start({ jobs: [sweepType()], quota: "free" });
    const runAt = new Date(Date.now() + 395 * DAY_SECONDS * 1000).toISOString();
    const response = await world.request("POST", "/api/jobs", { type: TYPE, payload: {}, runAt });
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({
      code: "validation_failed",
      errors: [{ pointer: "#/runAt" }],
    });
    expect(await countByStatus(world)).toEqual({});
  });

  test("a sweep that publishes it keeps to that limit as well", async () => {
    const { definition, seen } = countedType();
    const world = await stage.start({ jobs: [definition], quota: "free" });
    world.qstash.refusePublishes({ status: 503 });
    const jobId = await createIn(world, 20 * DAY_SECONDS);
    world.qstash.refusePublishes(null);
    expect(await world.sweep()).toMatchObject({ published: 1, publishFailures: 0 });
    await world.runUntilIdle(21 * DAY_SECONDS);
    expect(seen.runs).toBe(1);
    expect(await world.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });
});

describe("hops and clocks", () => {
  test.each([
    { name: "30 seconds", ahead: 30 },
    { name: "10 minutes", ahead: 600 },
  ])(
    "QStash's clock $name ahead: 8 days are not cut short, with at most 2 further messages (H05)",
    async ({ ahead }) => {
      const { definition, seen } = countedType();
      const world = await stage.start({ jobs: [definition], quota: "free" });
      world.qstash.advance(ahead * 1000);
      const jobId = await createIn(world, 8 * DAY_SECONDS);
      const askedAt = await dueAt(world, jobId);
      await world.runUntilIdle(9 * DAY_SECONDS);
      expect(seen.runs).toBe(1);
      const late = await startedLate(world, jobId, askedAt);
      expect(late).toBeGreaterThanOrEqual(0);
      expect(late).toBeLessThan(30);
      expect(world.qstash.counts().messages).toBeLessThanOrEqual(2 + 2);
    },
  );

  test("QStash's clock 10 minutes behind: the job is late by that much and not lost", async () => {
    const { definition, seen } = countedType();
    const world = await stage.start({ jobs: [definition], quota: "free" });
    await world.database.advance(600);
    const jobId = await createIn(world, 8 * DAY_SECONDS);
    const askedAt = await dueAt(world, jobId);
    await world.runUntilIdle(9 * DAY_SECONDS);
    expect(seen.runs).toBe(1);
    const late = await startedLate(world, jobId, askedAt);
    expect(late).toBeGreaterThanOrEqual(0);
    expect(late).toBeLessThan(630);
  });

  test("a hop whose message is lost: a sweep finds the job a minute after its time (I9)", async () => {
    const { definition, seen } = countedType();
    const world = await stage.start({ jobs: [definition], quota: "free" });
    const jobId = await createIn(world, 20 * DAY_SECONDS);
    await world.runUntilIdle(7 * DAY_SECONDS);
    expect(messagesOf(world)).toMatchObject([{ jobId, seq: 2 }]);
    loseMessages(world);
    await world.advance(10 * DAY_SECONDS);
    expect(await world.sweep()).toMatchObject({ published: 0, vanished: 0, probes: 0 });
    await world.advance(4 * DAY_SECONDS);
    expect(await world.sweep()).toMatchObject({ vanished: 0, probes: 1 });
    await world.qstash.deliverDue();
    expect(seen.runs).toBe(1);
    expect(await world.job(jobId)).toMatchObject({ status: "completed", trigger_seq: 3 });
  });

  test("a cancel between two hops ends the chain: no further message, no run", async () => {
    const { definition, seen } = countedType();
    const world = await stage.start({ jobs: [definition], quota: "free" });
    const jobId = await createIn(world, 30 * DAY_SECONDS);
    await world.runUntilIdle(8 * DAY_SECONDS);
    expect((await world.request("POST", `/api/jobs/${jobId}/cancel`)).status).toBe(200);
    await world.runUntilIdle(40 * DAY_SECONDS);
    expect(world.qstash.counts().messages).toBe(2);
    expect(messagesOf(world)).toEqual([]);
    expect(seen.runs).toBe(0);
  });

  test("run-now between two hops runs it at once, and the message on its way runs nothing", async () => {
    const { definition, seen } = countedType();
    const world = await stage.start({ jobs: [definition], quota: "free" });
    const jobId = await createIn(world, 30 * DAY_SECONDS);
    await world.runUntilIdle(8 * DAY_SECONDS);
    expect((await world.request("POST", `/api/jobs/${jobId}/run-now`)).status).toBe(202);
    await world.qstash.deliverDue();
    expect(seen.runs).toBe(1);
    await world.runUntilIdle(40 * DAY_SECONDS);
    expect(seen.runs).toBe(1);
    expect(await world.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });
});
