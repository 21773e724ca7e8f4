import { describe, expect, test, vi } from "vitest";
import type { JobDefinition } from "../../src/core/define-job.js";
import {
  countByStatus,
  insertWaiting,
  messagesOf,
  sweepFor,
  sweepType,
  TYPE,
} from "../support/sweep-jobs.js";
import { type SweepWorld, setUpSweeps } from "../support/sweep-world.js";
import { KEYS } from "../support/world.js";

const stage = setUpSweeps();

/** A type that counts its runs, and those that overlap. */
function countedType(options: Parameters<typeof sweepType>[0] = {}) {
  const seen = { runs: 0, active: 0, activeMax: 0, order: [] as number[] };
  const definition: JobDefinition = sweepType({
    async run({ payload }) {
      seen.runs += 1;
      seen.active += 1;
      seen.activeMax = Math.max(seen.activeMax, seen.active);
      seen.order.push((payload as { n: number }).n);
      await Promise.resolve();
      seen.active -= 1;
      return null;
    },
    ...options,
  });
  return { definition, seen };
}

async function post(world: SweepWorld, path: string, body: unknown): Promise<void> {
  expect((await world.request("POST", path, body)).status).toBe(202);
}

describe("QStash is down for an hour", () => {
  test("500 jobs posted meanwhile are all accepted, spend no attempt, and run once when it is back, spread (F05, U10)", async () => {
    const { definition, seen } = countedType();
    const world = await stage.start({ jobs: [definition] });
    world.qstash.refusePublishes({ status: 503 });
    const job = (n: number) => ({ type: TYPE, payload: { n } });
    for (let quarter = 0; quarter < 4; quarter += 1) {
      await Promise.all(Array.from({ length: 5 }, (_, n) => post(world, "/api/jobs", job(n))));
      const jobs = Array.from({ length: 120 }, (_, n) => job(n));
      await post(world, "/api/jobs/batch", { jobs });
      await world.advance(900);
      const { published, publishFailures, ranInSweep } = await world.sweep();
      expect(published).toBe((quarter + 1) * 125);
      // Beside them the probe of a silent type.
      expect(publishFailures - published).toBeLessThanOrEqual(1);
      expect(ranInSweep).toBe(0);
    }
    expect(await countByStatus(world)).toEqual({ queued: 500 });
    expect(seen.runs).toBe(0);

    world.qstash.refusePublishes(null);
    expect(await world.sweep()).toMatchObject({ published: 500, publishFailures: 0 });
    const first = messagesOf(world);
    expect(first.filter(({ dueInSeconds }) => dueInSeconds <= 0).length).toBeLessThanOrEqual(101);
    expect(first.at(-1)?.dueInSeconds).toBeGreaterThan(15);
    await world.runUntilIdle(120);
    expect(seen.runs).toBe(500);
    expect(
      await world.query("select status, attempts, count(*)::int from jobs group by 1, 2"),
    ).toEqual([{ status: "completed", attempts: 1, count: 500 }]);
  }, 60_000);

  test("a job that was accepted in the outage and cancelled before its end is neither published nor run", async () => {
    const { definition, seen } = countedType();
    const world = await stage.start({ jobs: [definition] });
    world.qstash.refusePublishes({ status: 503 });
    const created = await world.request("POST", "/api/jobs", { type: TYPE, payload: {} });
    const { jobId } = (await created.json()) as { jobId: string };
    expect((await world.request("POST", `/api/jobs/${jobId}/cancel`)).status).toBe(200);
    world.qstash.refusePublishes(null);
    expect(await world.sweep()).toMatchObject({ published: 0, probes: 0 });
    expect(seen.runs).toBe(0);
  });
});

describe("a sweep whose own publish was refused runs due jobs itself", () => {
  test("one at a time, the longest due first, within its calls; what does not fit is left", async () => {
    const { definition, seen } = countedType({ timeoutSeconds: 10 });
    const world = await stage.start({ jobs: [definition] });
    await insertWaiting(world, {
      count: 30,
      published: false,
      dueInSeconds: -3600,
      everySeconds: 1,
    });
    world.qstash.refusePublishes({ status: 503 });

    const report = await world.sweep();
    expect(report.ranInSweep).toBeGreaterThanOrEqual(5);
    expect(report).toMatchObject({ more: true, failedSteps: [] });
    expect(seen).toMatchObject({ runs: report.ranInSweep, activeMax: 1 });
    expect(seen.order).toEqual(Array.from({ length: seen.runs }, (_, n) => n));
    expect(await countByStatus(world)).toEqual({ completed: seen.runs, queued: 30 - seen.runs });

    for (let sweeps = 0; sweeps < 10 && seen.runs < 30; sweeps += 1) await world.sweep();
    expect(await countByStatus(world)).toEqual({ completed: 30 });
    expect(await world.query("select distinct attempts, claimed_by_message from jobs")).toEqual([
      { attempts: 1, claimed_by_message: null },
    ]);
  });

  test("types take turns, so that one with a backlog does not keep the others waiting", async () => {
    const busy = countedType({ timeoutSeconds: 10 });
    const other = countedType({ type: "test.other", timeoutSeconds: 10 });
    const world = await stage.start({ jobs: [busy.definition, other.definition] });
    await insertWaiting(world, { count: 50, published: false, dueInSeconds: -3600 });
    await insertWaiting(world, { count: 2, type: "test.other", published: false });
    world.qstash.refusePublishes({ status: 503 });
    await world.sweep();
    expect(other.seen.runs).toBe(2);
    expect(busy.seen.runs).toBeGreaterThan(1);
  });

  test("an attempt that fails there waits for its backoff, and its next message is left to a later sweep", async () => {
    const failing = sweepType({
      timeoutSeconds: 10,
      run: () => {
        throw new Error("no luck");
      },
    });
    const world = await stage.start({ jobs: [failing] });
    const [jobId = ""] = await insertWaiting(world, { count: 1, published: false });
    world.qstash.refusePublishes({ status: 503 });
    expect(await world.sweep()).toMatchObject({ ranInSweep: 1, publishFailures: 1 });
    const { publishRequests } = world.qstash.counts();
    expect(publishRequests).toBe(2);
    expect(await world.job(jobId)).toMatchObject({
      status: "failed",
      attempts: 1,
      trigger_seq: 2,
      triggered_at: null,
    });
    world.qstash.refusePublishes(null);
    expect(await world.sweep()).toMatchObject({ published: 1, ranInSweep: 0 });
    expect(messagesOf(world)).toMatchObject([{ jobId, seq: 2 }]);
  });

  test("but not types whose time limit does not fit, paused ones, or those of workers", async () => {
    const long = countedType({ type: "test.long", timeoutSeconds: 60 });
    const paused = countedType({ type: "test.paused", timeoutSeconds: 10 });
    const worker = countedType({ type: "test.worker", timeoutSeconds: 10, runsOn: "worker" });
    const definitions = [long, paused, worker].map(({ definition }) => definition);
    const world = await stage.start({ jobs: definitions });
    await world.request("POST", "/api/types/test.paused/pause", undefined, KEYS.admin);
    for (const { type } of definitions) {
      await insertWaiting(world, { count: 3, type, published: false, dueInSeconds: -3600 });
    }
    world.qstash.refusePublishes({ status: 503 });
    expect(await world.sweep()).toMatchObject({ ranInSweep: 0, published: 3 });
    expect(await countByStatus(world)).toEqual({ queued: 9 });
  });

  test("but not while publishes are accepted, however long the jobs are due", async () => {
    const { definition, seen } = countedType({ timeoutSeconds: 10 });
    const world = await stage.start({ jobs: [definition] });
    await insertWaiting(world, { count: 20, dueInSeconds: -7200 });
    await insertWaiting(world, { count: 20, published: false, dueInSeconds: -7200 });
    const reports = await sweepFor(world, { minutes: 60, everyMinutes: 15 });
    for (const report of reports) expect(report).toMatchObject({ ranInSweep: 0 });
    expect(seen.runs).toBe(0);
  });

  test("so a whole outage slows jobs and does not stop them: nothing is run twice when it ends", async () => {
    const { definition, seen } = countedType({ timeoutSeconds: 10 });
    const world = await stage.start({ jobs: [definition] });
    world.qstash.refusePublishes({ status: 503 });
    const jobs = Array.from({ length: 40 }, (_, n) => ({ type: TYPE, payload: { n } }));
    await post(world, "/api/jobs/batch", { jobs });
    await sweepFor(world, { minutes: 30, everyMinutes: 15 });
    expect(seen.runs).toBeGreaterThanOrEqual(10);
    expect(seen.runs).toBeLessThan(40);
    world.qstash.refusePublishes(null);
    await world.sweep();
    await world.runUntilIdle(60);
    expect(seen.runs).toBe(40);
    expect(await world.query("select distinct status, attempts from jobs")).toEqual([
      { status: "completed", attempts: 1 },
    ]);
  });
});

describe("QStash that accepts connections and never answers", () => {
  test("does not hold a sweep beyond its time: the rest is left to the next one, unpublished", async () => {
    const world = await stage.start({ jobs: [sweepType()], env: { SWEEP_MAX_SECONDS: "20" } });
    await insertWaiting(world, { count: 500, published: false, dueInSeconds: -3600 });
    let nowMs = performance.now();
    const clock = vi.spyOn(performance, "now").mockImplementation(() => nowMs);
    world.qstash.refusePublishes("hang");
    const startedMs = nowMs;
    let isDone = false;
    const swept = world.sweep().finally(() => {
      isDone = true;
    });
    while (!isDone) {
      // A try waits five seconds, by the timers that tests drive.
      if (world.instance.timers.waiting() > 0) {
        nowMs += 5000;
        await world.instance.timers.advance(5000);
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    clock.mockRestore();
    const report = await swept;
    expect((nowMs - startedMs) / 1000).toBeLessThanOrEqual(30);
    expect(report).toMatchObject({ more: true, failedSteps: [] });
    expect(
      await world.query(
        "select triggered_at is null as unpublished, count(*)::int from jobs group by 1",
      ),
    ).toEqual([{ unpublished: true, count: 500 }]);
    world.qstash.refusePublishes(null);
    expect(await world.sweep()).toMatchObject({ published: 500, publishFailures: 0 });
  });
});
