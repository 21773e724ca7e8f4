import { describe, expect, test } from "vitest";
import {
  countByStatus,
  insertLost,
  messagesOf,
  sweepFor,
  sweepType,
  TYPE,
} from "../support/sweep-jobs.js";
import { setUpSweeps } from "../support/sweep-world.js";
import { KEYS } from "../support/world.js";

const stage = setUpSweeps();

describe("expired leases", () => {
  test("50 jobs left claimed by dead processes are all recovered by the first sweep, and run (I15)", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    const ids = await insertLost(world, { count: 50 });

    expect(await world.sweep()).toMatchObject({
      leasesRecovered: 50,
      deadLettered: 0,
      more: false,
    });
    const rows = await world.query(
      `select status, attempts, trigger_seq, lock_token, last_error ->> 'code' as code,
         round(extract(epoch from next_run_at - updated_at))::int as backoff,
         extract(epoch from next_trigger_at - next_run_at)::int as grace
       from jobs group by 1, 2, 3, 4, 5, 6, 7`,
    );
    expect(rows).toEqual([
      {
        status: "failed",
        attempts: 1,
        trigger_seq: 2,
        lock_token: null,
        code: "lease_expired",
        backoff: 30,
        grace: 600,
      },
    ]);
    expect(
      await world.query(
        "select outcome, error_code, number, count(*)::int from job_attempts group by 1, 2, 3",
      ),
    ).toEqual([{ outcome: "lease_expired", error_code: "lease_expired", number: 1, count: 50 }]);
    expect(new Set(messagesOf(world).map(({ jobId }) => jobId))).toEqual(new Set(ids));

    await world.runUntilIdle(120);
    expect(await countByStatus(world)).toEqual({ completed: 50 });
  });

  test("each waits the backoff of its own failures: after the third, four times the base", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    await insertLost(world, { count: 1, attempts: 3 });
    await world.sweep();
    expect(messagesOf(world)[0]?.dueInSeconds).toBeGreaterThan(118);
    expect(messagesOf(world)[0]?.dueInSeconds).toBeLessThan(125);
  });

  test("a cancel request ends the job as cancelled, a used-up budget as a dead letter (J04)", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    const [cancelled = ""] = await insertLost(world, { count: 1, cancelRequested: true });
    const [dead = ""] = await insertLost(world, { count: 1, attempts: 3, maxAttempts: 3 });
    // Asked to cancel, and without budget: the request comes first.
    const [both = ""] = await insertLost(world, {
      count: 1,
      attempts: 3,
      maxAttempts: 3,
      cancelRequested: true,
    });

    expect(await world.sweep()).toMatchObject({
      leasesRecovered: 3,
      cancelled: 2,
      deadLettered: 1,
      published: 0,
    });
    for (const id of [cancelled, both]) {
      expect(await world.job(id)).toMatchObject({ status: "cancelled", next_run_at: null });
    }
    expect(await world.job(dead)).toMatchObject({
      status: "dead_letter",
      attempts: 3,
      last_error: { code: "lease_expired", retryable: false },
    });
    expect(await world.query("select count(*)::int from job_attempts")).toEqual([{ count: 3 }]);
    expect(messagesOf(world)).toEqual([]);
  });

  test("a live lease is left alone", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    await insertLost(world, { count: 1, expiredSecondsAgo: -5 });
    expect(await world.sweep()).toMatchObject({ leasesRecovered: 0 });
    expect(await countByStatus(world)).toEqual({ processing: 1 });
  });

  test("of a paused type they are recovered, but not published until the type goes on", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    await world.request("POST", `/api/types/${TYPE}/pause`, undefined, KEYS.admin);
    const ids = await insertLost(world, { count: 3 });

    expect(await world.sweep()).toMatchObject({ leasesRecovered: 3, published: 0 });
    expect(await countByStatus(world)).toEqual({ failed: 3 });
    expect(world.qstash.counts().messages).toBe(0);

    await world.request("POST", `/api/types/${TYPE}/resume`, undefined, KEYS.admin);
    expect(await world.sweep()).toMatchObject({ published: 3 });
    expect(
      messagesOf(world)
        .map(({ jobId }) => jobId)
        .sort(),
    ).toEqual(ids.sort());
  });

  test("of a type that workers run they are recovered without a message", async () => {
    const worker = sweepType({ runsOn: "worker" });
    const world = await stage.start({ jobs: [worker] });
    await insertLost(world, { count: 3 });
    expect(await world.sweep()).toMatchObject({ leasesRecovered: 3, publishFailures: 0 });
    expect(await countByStatus(world)).toEqual({ failed: 3 });
    expect(world.qstash.counts().publishRequests).toBe(0);
  });

  test("of a type that no deployment knows any more they are recovered, too", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    await insertLost(world, { count: 2, type: "test.gone", attempts: 7 });
    expect(await world.sweep()).toMatchObject({ leasesRecovered: 2 });
    expect(await countByStatus(world)).toEqual({ failed: 2 });
  });

  test("more than one sweep can take are recovered in batches, the oldest lease first (N05)", async () => {
    const world = await stage.start({ jobs: [sweepType()], env: { SWEEP_MAX_CALLS: "15" } });
    const ids = await insertLost(world, { count: 700 });

    expect(await world.sweep()).toMatchObject({ leasesRecovered: 200, more: true });
    const recovered = await world.query<{ id: string }>(
      "select id from jobs where status = 'failed'",
    );
    expect(new Set(recovered.map(({ id }) => id))).toEqual(new Set(ids.slice(0, 200)));

    const reports = await sweepFor(world, { minutes: 3, everyMinutes: 1 });
    expect(reports.map(({ leasesRecovered }) => leasesRecovered)).toEqual([200, 200, 100]);
    expect(await countByStatus(world)).toEqual({ failed: 700 });
  });
});

describe("a sweep beside a job that ends", () => {
  test("a job that finished after the sweep began keeps its result (N02)", async () => {
    const world = await stage.start({ jobs: [sweepType({ run: () => ({ sent: true }) })] });
    const sweeping = world.newInstance();
    const created = await world.request("POST", "/api/jobs", { type: TYPE, payload: {} });
    const { jobId } = (await created.json()) as { jobId: string };
    const holdFinish = Promise.withResolvers<void>();
    const finishing = Promise.withResolvers<void>();
    world.instance.ports.rule = async ({ method }) => {
      if (method !== "finish") return undefined;
      finishing.resolve();
      await holdFinish.promise;
      return undefined;
    };
    const delivered = world.qstash.deliverDue();
    await finishing.promise;
    await world.database.advance(91);
    // The lease has run out. Between the look of the sweep and its change the holder finishes.
    sweeping.ports.rule = async ({ method }) => {
      if (method !== "recoverLeases") return undefined;
      holdFinish.resolve();
      await delivered;
      return undefined;
    };

    expect(await world.sweep(sweeping)).toMatchObject({ leasesRecovered: 0 });
    expect(await world.job(jobId)).toMatchObject({
      status: "completed",
      attempts: 1,
      result_json: { sent: true },
    });
  });

  test("a job whose row is held at this moment is left to the next sweep", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    const [first = "", second = ""] = await insertLost(world, { count: 2 });
    const holder = await world.database.pg.connect();
    await holder.query("begin");
    await holder.query("select from jobs where id = $1 for update", [first]);

    expect(await world.sweep()).toMatchObject({ leasesRecovered: 1 });
    expect(await world.job(second)).toMatchObject({ status: "failed" });
    await holder.query("rollback");
    holder.release();

    expect(await world.sweep()).toMatchObject({ leasesRecovered: 1 });
    expect(await world.job(first)).toMatchObject({ status: "failed", attempts: 1 });
  });

  test("five sweeps at once recover each lease once, with one history row and one message", async () => {
    const world = await stage.start({ jobs: [sweepType()] });
    await insertLost(world, { count: 150 });
    const instances = [1, 2, 3, 4, 5].map(() => world.newInstance());

    const reports = await Promise.all(instances.map((each) => world.sweep(each)));
    expect(reports.flatMap(({ failedSteps }) => failedSteps)).toEqual([]);
    const recovered = reports.reduce((sum, report) => sum + report.leasesRecovered, 0);
    // What one held while another looked is the next one's.
    const last = await world.sweep();
    expect(recovered + last.leasesRecovered).toBe(150);
    expect(await world.query("select count(*)::int from job_attempts")).toEqual([{ count: 150 }]);
    expect(world.qstash.counts()).toMatchObject({ messages: 150, deduplicated: 0 });
    expect(
      await world.query("select trigger_seq, attempts, count(*)::int from jobs group by 1, 2"),
    ).toEqual([{ trigger_seq: 2, attempts: 1, count: 150 }]);
  });
});
