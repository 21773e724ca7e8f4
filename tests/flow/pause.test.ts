import { describe, expect, test } from "vitest";
import type { Json } from "../../src/core/define-job.js";
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

async function setPaused(world: SweepWorld, paused: boolean, reason = "maintenance") {
  const path = `/api/types/${TYPE}/${paused ? "pause" : "resume"}`;
  const response = await world.request("POST", path, { reason }, KEYS.admin);
  expect(response.status).toBe(200);
  return (await response.json()) as Record<string, unknown>;
}

async function post(world: SweepWorld, more: Record<string, Json> = {}): Promise<string> {
  const body = { type: TYPE, payload: {}, ...more };
  const response = await world.request("POST", "/api/jobs", body);
  expect(response.status).toBe(202);
  return ((await response.json()) as { jobId: string }).jobId;
}

/** A type that notes its runs. */
function notedType() {
  const ran: string[] = [];
  const definition = sweepType({
    run: ({ operationId }) => {
      ran.push(operationId);
      return null;
    },
  });
  return { definition, ran };
}

describe("while a type is paused", () => {
  test("a delivery runs nothing, is answered as done, and leaves its job marked as not published", async () => {
    const { definition, ran } = notedType();
    const world = await stage.start({ jobs: [definition] });
    const jobId = await post(world);
    await setPaused(world, true);
    const [delivered] = await world.qstash.deliverDue();
    expect(delivered).toMatchObject({ status: 200, outcome: "delivered" });
    expect(JSON.parse(delivered?.body ?? "")).toEqual({ outcome: "noop", reason: "paused" });
    expect(ran).toEqual([]);
    expect(await world.job(jobId)).toMatchObject({
      status: "queued",
      attempts: 0,
      triggered_at: null,
      trigger_seq: 2,
    });
  });

  test("a job for later is not hopped by its early message, which marks it as not published", async () => {
    const { definition } = notedType();
    const world = await stage.start({ jobs: [definition] });
    const jobId = await post(world, { delaySeconds: 3600 });
    await setPaused(world, true);
    const [message] = messagesOf(world);
    const delivered = await world.qstash.deliver(message?.messageId ?? "", { early: true });
    expect(JSON.parse(delivered.body)).toEqual({ outcome: "noop", reason: "paused" });
    expect(messagesOf(world)).toEqual([]);
    expect(await world.job(jobId)).toMatchObject({ triggered_at: null, trigger_seq: 2 });
  });

  test("creating goes on, one by one and in batches, without a publish", async () => {
    const { definition } = notedType();
    const world = await stage.start({ jobs: [definition] });
    await setPaused(world, true);
    await post(world);
    const jobs = Array.from({ length: 20 }, () => ({ type: TYPE, payload: {} }));
    expect((await world.request("POST", "/api/jobs/batch", { jobs })).status).toBe(202);
    expect(world.qstash.counts().publishRequests).toBe(0);
    expect(await world.query("select count(*)::int from jobs where triggered_at is null")).toEqual([
      { count: 21 },
    ]);
  });

  test("sweeps publish nothing of it for a day, and go on with every other type", async () => {
    const { definition } = notedType();
    const world = await stage.start({ jobs: [definition, sweepType({ type: "test.other" })] });
    await setPaused(world, true);
    await insertWaiting(world, { count: 30, dueInSeconds: -7200 });
    await insertWaiting(world, { count: 30, published: false, dueInSeconds: -7200 });
    await insertWaiting(world, { count: 3, type: "test.other", published: false });
    expect(await world.sweep()).toMatchObject({ published: 3, vanished: 0, probes: 0 });
    const reports = await sweepFor(world, { minutes: 24 * 60, everyMinutes: 120 }, async () => {
      await world.qstash.deliverDue();
    });
    for (const report of reports) {
      expect(report).toMatchObject({ published: 0, vanished: 0, probes: 0, more: false });
    }
    expect(await countByStatus(world)).toEqual({ queued: 60, completed: 3 });
  });

  test("a running attempt ends as it would have, and what it makes wait is not published", async () => {
    let fail = (): void => {};
    const running = Promise.withResolvers<void>();
    const slow = sweepType({
      run: () =>
        new Promise((_, reject) => {
          fail = () => reject(new Error("no luck"));
          running.resolve();
        }),
    });
    const world = await stage.start({ jobs: [slow] });
    const jobId = await post(world);
    const delivered = world.qstash.deliverDue();
    await running.promise;
    await setPaused(world, true);
    fail();
    await delivered;
    expect(await world.job(jobId)).toMatchObject({
      status: "failed",
      attempts: 1,
      trigger_seq: 2,
      triggered_at: null,
    });
    expect(messagesOf(world)).toEqual([]);
  });

  test("replays, bulk replays and run-now wait for the resume as well", async () => {
    const { definition, ran } = notedType();
    const world = await stage.start({ jobs: [definition] });
    const [one = ""] = await insertWaiting(world, { count: 5, dueInSeconds: 60 });
    const later = await post(world, { delaySeconds: 3600 });
    await world.query(
      `update jobs set status = 'dead_letter', next_run_at = null, next_trigger_at = null,
         attempts = 1, finished_at = now(), last_error = '{"code": "fatal"}' where id <> $1`,
      [later],
    );
    await setPaused(world, true);
    const before = world.qstash.counts().publishRequests;
    expect((await world.request("POST", `/api/jobs/${one}/replay`)).status).toBe(202);
    expect((await world.request("POST", `/api/jobs/${later}/run-now`)).status).toBe(202);
    const bulk = await world.request("POST", "/api/dead-letters/replay", {});
    expect(await bulk.json()).toMatchObject({ matched: 4, replayed: 4 });
    expect(world.qstash.counts().publishRequests).toBe(before);
    await world.qstash.deliverDue();
    expect(ran).toEqual([]);

    await setPaused(world, false);
    expect(await world.sweep()).toMatchObject({ published: 6 });
    await world.qstash.deliverDue();
    expect(ran).toHaveLength(6);
  });
});

describe("after the resume", () => {
  test("what waits is published by sweeps in batches, the longest due first, spread, each once", async () => {
    const { definition, ran } = notedType();
    const world = await stage.start({ jobs: [definition], env: { SWEEP_MAX_CALLS: "15" } });
    await setPaused(world, true);
    const ids = await insertWaiting(world, {
      count: 620,
      published: false,
      dueInSeconds: -3600,
      everySeconds: 1,
    });
    await setPaused(world, false);
    expect(world.qstash.counts().messages).toBe(0);

    expect(await world.sweep()).toMatchObject({ published: 500, more: true });
    const first = messagesOf(world).filter(({ seq }) => seq === 1);
    expect(new Set(first.map(({ jobId }) => jobId))).toEqual(new Set(ids.slice(0, 500)));
    expect(first.filter(({ dueInSeconds }) => dueInSeconds <= 0).length).toBe(100);
    expect(first.at(-1)?.dueInSeconds).toBeGreaterThanOrEqual(19);

    await world.advance(60);
    expect(await world.sweep()).toMatchObject({ published: 120 });
    const all = messagesOf(world).filter(({ seq }) => seq === 1);
    expect(all.map(({ jobId }) => jobId).sort()).toEqual([...ids].sort());
    expect(ran).toEqual([]);
  });

  test("jobs whose messages met the pause get new ones, which QStash does not take for the old", async () => {
    const { definition, ran } = notedType();
    const world = await stage.start({ jobs: [definition] });
    const jobs = Array.from({ length: 30 }, () => ({ type: TYPE, payload: {} }));
    expect((await world.request("POST", "/api/jobs/batch", { jobs })).status).toBe(202);
    await setPaused(world, true);
    await world.qstash.deliverDue();
    await setPaused(world, false);
    // QStash remembers a message for ten minutes.
    await world.advance(120);
    expect(await world.sweep()).toMatchObject({ published: 30, publishFailures: 0 });
    expect(new Set(messagesOf(world).map(({ jobId }) => jobId)).size).toBe(30);
    await world.qstash.deliverDue();
    expect(ran).toHaveLength(30);
    expect(await countByStatus(world)).toEqual({ completed: 30 });
  });

  test("a repeated pause keeps its first reason, and a resume forgets it", async () => {
    const { definition } = notedType();
    const world = await stage.start({ jobs: [definition] });
    const first = await setPaused(world, true, "the first");
    expect(first).toMatchObject({ paused: true, pausedBy: "ops", pauseReason: "the first" });
    expect(await setPaused(world, true, "the second")).toEqual(first);
    expect(await setPaused(world, false)).toMatchObject({ paused: false, pauseReason: null });
  });
});
