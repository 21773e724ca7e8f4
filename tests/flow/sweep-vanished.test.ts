import { describe, expect, test } from "vitest";
import {
  countByStatus,
  insertWaiting,
  loseMessages,
  messagesOf,
  runInSql,
  sweepFor,
  sweepType,
  TYPE,
} from "../support/sweep-jobs.js";
import { type SweepWorld, setUpSweeps } from "../support/sweep-world.js";

const stage = setUpSweeps();

/** Minutes from the job's due time to its next look, and from now. */
async function nextLookOf(world: SweepWorld, jobId: string): Promise<number> {
  const [row] = await world.query<{ minutes: number }>(
    "select extract(epoch from next_trigger_at - now())::float8 / 60 as minutes from jobs where id = $1",
    [jobId],
  );
  return row?.minutes ?? Number.NaN;
}

/** Runs one more job of the type for real, so that the type moves. */
async function runAnother(world: SweepWorld): Promise<void> {
  loseMessages(world);
  await world.request("POST", "/api/jobs", { type: TYPE, payload: { passes: true } });
  await world.qstash.deliverDue();
}

describe("vanished messages of a type that moves", () => {
  test("a job is published again 10 minutes after its due time, then 20, 40 … minutes, at most 24 hours apart, with a new seq each time", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    const [jobId = ""] = await insertWaiting(world, { count: 1 });
    const distances: number[] = [];
    for (let looks = 1; looks <= 10; looks += 1) {
      const untilLook = await nextLookOf(world, jobId);
      distances.push(untilLook);
      await world.advance((untilLook - 0.5) * 60);
      await runAnother(world);
      expect(await world.sweep(), `before look ${looks}`).toMatchObject({ vanished: 0, probes: 0 });
      await world.advance(60);
      await runAnother(world);
      expect(await world.sweep(), `look ${looks}`).toMatchObject({ vanished: 1, probes: 0 });
      expect(await world.job(jobId)).toMatchObject({ trigger_seq: 1 + looks, attempts: 0 });
    }
    // A sweep that comes half a minute after its time makes the next distances a little longer.
    const expected = [10, 10, 20, 40, 80, 160, 320, 640, 1280, 1440];
    for (const [at, distance] of distances.entries()) {
      expect(distance / (expected[at] ?? 0), `distance ${at}`).toBeGreaterThan(0.98);
      expect(distance / (expected[at] ?? 0), `distance ${at}`).toBeLessThan(1.2);
    }
  });

  test("a claim resets the distance: the next try is looked for 10 minutes after its own due time", async () => {
    let fails = true;
    const flaky = sweepType({
      run: ({ payload }) => {
        if (fails && !(payload as { passes?: boolean }).passes) throw new Error("not yet");
        return null;
      },
    });
    const world = await stage.start({ jobs: [flaky] });
    const [jobId = ""] = await insertWaiting(world, { count: 1, dueInSeconds: -7200 });
    await runAnother(world);
    await world.sweep();
    expect(await nextLookOf(world, jobId)).toBeGreaterThan(100);
    await world.qstash.deliverDue();
    expect(await world.job(jobId)).toMatchObject({ status: "failed", attempts: 1 });
    expect(await nextLookOf(world, jobId)).toBeGreaterThan(9.5);
    expect(await nextLookOf(world, jobId)).toBeLessThan(10.6);

    fails = false;
    loseMessages(world);
    await world.advance(11 * 60);
    await runAnother(world);
    expect(await world.sweep()).toMatchObject({ vanished: 1 });
    await world.qstash.deliverDue();
    expect(await world.job(jobId)).toMatchObject({ status: "completed", attempts: 2 });
  });

  test("at most 10 and a tenth of the claims since the last sweep are published, the longest due first", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    const ids = await insertWaiting(world, { count: 400, dueInSeconds: -3600, everySeconds: 1 });
    await runInSql(world, 50, 300);
    // The first look shares out nothing that was claimed before it.
    expect(await world.sweep()).toMatchObject({ vanished: 10, probes: 0, more: false });
    await world.advance(300);
    await runInSql(world, 100, 299);
    expect(await world.sweep()).toMatchObject({ vanished: 20, probes: 0 });

    const published = messagesOf(world).map(({ jobId }) => jobId);
    expect(new Set(published)).toEqual(new Set([...ids.slice(50, 60), ...ids.slice(150, 170)]));
  });

  test("sweeps beside each other share the allowance out, and none publishes a job twice", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    await insertWaiting(world, { count: 400, dueInSeconds: -3600, everySeconds: 1 });
    await runInSql(world, 1, 10);
    await world.sweep();
    await world.advance(300);
    await runInSql(world, 100, 299);
    const instances = [1, 2, 3, 4, 5].map(() => world.newInstance());

    const reports = await Promise.all(instances.map((each) => world.sweep(each)));
    expect(reports.flatMap(({ failedSteps }) => failedSteps)).toEqual([]);
    const published = reports.reduce((sum, { vanished }) => sum + vanished, 0);
    expect(published).toBeLessThanOrEqual(20 + 4 * 10);
    expect(
      await world.query("select max(trigger_seq)::int as seq from jobs where status = 'queued'"),
    ).toEqual([{ seq: 2 }]);
  });
});

describe("a type that went silent", () => {
  test("is probed with its longest due job, 1, 2, 4 … minutes apart and at most an hour, while no claim follows", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    const [first = ""] = await insertWaiting(world, {
      count: 50,
      dueInSeconds: -61,
      everySeconds: 1,
    });
    expect(await world.sweep()).toMatchObject({ probes: 1, vanished: 0 });
    for (const [at, minutes] of [1, 2, 4, 8, 16, 32, 60, 60].entries()) {
      loseMessages(world);
      await world.advance(minutes * 60 - 25);
      expect(await world.sweep(), `before probe ${at + 2}`).toMatchObject({
        probes: 0,
        vanished: 0,
      });
      await world.advance(30);
      expect(await world.sweep(), `probe ${at + 2}`).toMatchObject({ probes: 1, vanished: 0 });
      expect(messagesOf(world)).toMatchObject([{ jobId: first, seq: at + 3 }]);
    }
    expect(await countByStatus(world)).toEqual({ queued: 50 });
  });

  test("is not probed while its work is due for less than a minute, nor while a lease lives", async () => {
    const world = await stage.start({
      jobs: [sweepType(), sweepType({ type: "test.other" })],
    });
    await insertWaiting(world, { count: 5, dueInSeconds: -40 });
    await insertWaiting(world, { count: 2, type: "test.other", dueInSeconds: -300 });
    await world.query(
      `update jobs set status = 'processing', attempts = 1, lock_token = gen_random_uuid(),
         lock_until = now() + interval '10 minutes', started_at = now() - interval '5 minutes',
         attempt_started_at = now() - interval '5 minutes', next_run_at = null,
         next_trigger_at = null
       where id = (select id from jobs where job_type = 'test.other' limit 1)`,
    );
    expect(await world.sweep()).toMatchObject({ probes: 0 });
    await world.advance(25);
    expect(await world.sweep()).toMatchObject({ probes: 1 });
    expect(messagesOf(world)).toMatchObject([{ type: TYPE }]);
  });

  test("gets full batches only after a claim has followed the probe, and then every job runs once", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    await insertWaiting(world, { count: 620, dueInSeconds: -3600, everySeconds: 1 });
    // Two sweeps whose probe is lost publish nothing else.
    const before = await sweepFor(world, { minutes: 20, everyMinutes: 10 }, () =>
      loseMessages(world),
    );
    for (const report of before) expect(report).toMatchObject({ probes: 1, vanished: 0 });

    await world.qstash.deliverDue();
    expect(await countByStatus(world)).toEqual({ queued: 619, completed: 1 });
    await world.advance(300);
    expect(await world.sweep()).toMatchObject({ vanished: 500, more: true });
    // That batch is the next probe: without an answer there is no second one.
    await world.advance(300);
    expect(await world.sweep()).toMatchObject({ vanished: 0, probes: 1 });
    await runInSql(world, 501, 60);
    await world.advance(300);
    expect(await world.sweep()).toMatchObject({ vanished: 118 });
    loseMessages(world);
    await runInSql(world, 118, 60);
    expect(await countByStatus(world)).toEqual({ completed: 620 });
  });

  test("is probed by one of five sweeps at once", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    await insertWaiting(world, { count: 20, dueInSeconds: -3600 });
    const instances = [1, 2, 3, 4, 5].map(() => world.newInstance());
    const reports = await Promise.all(instances.map((each) => world.sweep(each)));
    expect(reports.reduce((sum, { probes }) => sum + probes, 0)).toBe(1);
    expect(messagesOf(world)).toHaveLength(1);
  });

  test("recovers a single lost message within its first sweep after a minute (I9)", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    const created = await world.request("POST", "/api/jobs", { type: TYPE, payload: {} });
    const { jobId } = (await created.json()) as { jobId: string };
    loseMessages(world);
    await world.advance(61);
    expect(await world.sweep()).toMatchObject({ probes: 1 });
    await world.qstash.deliverDue();
    expect(await world.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });
});
