import { describe, expect, test } from "vitest";
import {
  countByStatus,
  insertWaiting,
  messagesOf,
  sweepFor,
  sweepType,
  TYPE,
} from "../support/sweep-jobs.js";
import { type SweepWorld, setUpSweeps } from "../support/sweep-world.js";

const stage = setUpSweeps();

/** Posts a job; gives its id. */
async function post(world: SweepWorld, more: Record<string, unknown> = {}): Promise<string> {
  const response = await world.request("POST", "/api/jobs", { type: TYPE, payload: {}, ...more });
  expect(response.status).toBe(202);
  return ((await response.json()) as { jobId: string }).jobId;
}

describe("jobs that are known not to be published", () => {
  test("a job whose publish was refused is published by the first sweep, at once and with its seq, and runs once (F01)", async () => {
    let runs = 0;
    const counted = sweepType({
      run: () => {
        runs += 1;
        return null;
      },
    });
    const world = await stage.start({ jobs: [counted] });
    world.qstash.refusePublishes({ status: 500 });
    const jobId = await post(world);
    expect(await world.job(jobId)).toMatchObject({ triggered_at: null, trigger_seq: 1 });
    world.qstash.refusePublishes(null);

    expect(await world.sweep()).toMatchObject({ published: 1, publishFailures: 0 });
    expect(messagesOf(world)).toMatchObject([{ jobId, seq: 1, dueInSeconds: 0 }]);
    await world.qstash.deliverDue();
    expect(runs).toBe(1);
    expect(await world.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("a publish that was accepted but not answered is recognised by QStash when the sweep repeats it (F02)", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    world.qstash.refusePublishes("cut", { times: 2 });
    const jobId = await post(world);
    expect(await world.job(jobId)).toMatchObject({ triggered_at: null });
    expect(messagesOf(world)).toMatchObject([{ jobId, seq: 1 }]);

    expect(await world.sweep()).toMatchObject({ published: 1, publishFailures: 0 });
    expect(messagesOf(world)).toMatchObject([{ jobId, seq: 1 }]);
    expect(world.qstash.counts()).toMatchObject({ messages: 1, deduplicated: 2 });
    await world.qstash.deliverDue();
    expect(await world.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("a job for later is published for its time, not before it", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    world.qstash.refusePublishes({ status: 503 });
    const jobId = await post(world, { delaySeconds: 3600 });
    world.qstash.refusePublishes(null);
    await world.sweep();
    const [message] = messagesOf(world);
    expect(message).toMatchObject({ jobId, seq: 1 });
    expect(message?.dueInSeconds).toBeGreaterThan(3595);
  });

  test("a job whose publish fails again stays the sweep's, with the same seq, however often", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    world.qstash.refusePublishes({ status: 503 });
    const jobId = await post(world, { delaySeconds: 600 });
    for (let sweeps = 0; sweeps < 3; sweeps += 1) {
      expect(await world.sweep()).toMatchObject({ published: 1, publishFailures: 1 });
      expect(await world.job(jobId)).toMatchObject({ triggered_at: null, trigger_seq: 1 });
    }
    world.qstash.refusePublishes(null);
    expect(await world.sweep()).toMatchObject({ published: 1, publishFailures: 0 });
    expect(await world.sweep()).toMatchObject({ published: 0 });
  });

  test("a sweep that dies after it took them loses none: they are found as vanished", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    await insertWaiting(world, { count: 3, published: false });
    const dying = world.newInstance();
    dying.ports.rule = ({ method }) => (method === "takeUnpublished" ? "crash_after" : undefined);
    await expect(world.sweep(dying)).rejects.toThrow("died");
    expect(messagesOf(world)).toEqual([]);

    await sweepFor(world, { minutes: 20, everyMinutes: 5 }, async () => {
      await world.qstash.deliverDue();
    });
    await world.qstash.deliverDue();
    expect(await countByStatus(world)).toEqual({ completed: 3 });
  });

  test("five sweeps at once publish each of 500 overdue jobs once, and report no error (N01)", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    const ids = await insertWaiting(world, { count: 500, published: false, dueInSeconds: -300 });
    const instances = [1, 2, 3, 4, 5].map(() => world.newInstance());

    const reports = await Promise.all(instances.map((each) => world.sweep(each)));
    reports.push(await world.sweep());
    expect(reports.flatMap(({ failedSteps }) => failedSteps)).toEqual([]);
    const messages = messagesOf(world).filter(({ seq }) => seq === 1);
    expect(messages.map(({ jobId }) => jobId).sort()).toEqual([...ids].sort());
    // Beside them a silent type may have been probed, once.
    expect(world.qstash.counts().messages).toBeLessThanOrEqual(501);
    expect(world.qstash.counts().deduplicated).toBe(0);
  });

  test("many leave 100 at once and then 20 a second, over all batches of a sweep (U10)", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    const ids = await insertWaiting(world, {
      count: 1300,
      published: false,
      dueInSeconds: -3000,
      everySeconds: 1,
    });
    expect(await world.sweep()).toMatchObject({ published: 1300, more: false });

    // Without the probe, which is the second message of a job.
    const messages = messagesOf(world).filter(({ seq }) => seq === 1);
    expect(messages.filter(({ dueInSeconds }) => dueInSeconds <= 0)).toHaveLength(100);
    for (let second = 1; second <= 60; second += 1) {
      const inSecond = messages.filter(
        ({ dueInSeconds }) => dueInSeconds > second - 1 && dueInSeconds <= second,
      );
      // The carrier knows whole seconds only, which may put two batches of 20 into one.
      expect(inSecond.length, `second ${second}`).toBeLessThanOrEqual(41);
    }
    expect(messages.at(-1)?.dueInSeconds).toBeGreaterThan(55);
    // The longest due first: none of the last hundred comes before one of the first hundred.
    const placeOf = new Map(messages.map(({ jobId }, place) => [jobId, place]));
    const places = (some: string[]) => some.map((id) => placeOf.get(id) ?? -1);
    expect(Math.max(...places(ids.slice(0, 100)))).toBeLessThan(
      Math.min(...places(ids.slice(-100))),
    );
  });
});

describe("types that no sweep publishes", () => {
  test("jobs that workers fetch are left alone, unpublished, vanished or silent", async () => {
    const world = await stage.start({ jobs: [sweepType({ runsOn: "worker" })] });
    await insertWaiting(world, { count: 5, published: false, dueInSeconds: -7200 });
    await insertWaiting(world, { count: 5, published: true, dueInSeconds: -7200 });
    const reports = await sweepFor(world, { minutes: 60, everyMinutes: 5 });
    for (const report of reports) {
      expect(report).toMatchObject({ published: 0, vanished: 0, probes: 0, ranInSweep: 0 });
    }
    expect(world.qstash.counts().publishRequests).toBe(0);
    expect(await countByStatus(world)).toEqual({ queued: 10 });
  });

  test("a type of workers does not keep another type from being published", async () => {
    const world = await stage.start({
      jobs: [sweepType({ runsOn: "worker" }), sweepType({ type: "test.other" })],
    });
    await insertWaiting(world, { count: 600, published: false, dueInSeconds: -7200 });
    const ids = await insertWaiting(world, { count: 2, type: "test.other", published: false });
    expect(await world.sweep()).toMatchObject({ published: 2 });
    expect(
      messagesOf(world)
        .map(({ jobId }) => jobId)
        .sort(),
    ).toEqual(ids.sort());
  });
});
