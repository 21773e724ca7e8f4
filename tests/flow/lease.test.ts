import { describe, expect, test } from "vitest";
import type { ClaimRequest } from "../../src/core/attempt.js";
import { sendAgain } from "../support/flow-delivery.js";
import { byAttempt, held, scripted, succeed, TYPE, throws } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";
import { storeOver } from "../support/store.js";

const flow = setUpFlow();

/** A lease that ends long before the time limit, so that only the lease is what is lost. */
const LONG = { leaseSeconds: 60, timeoutSeconds: 600 };

const outcomeOf = (body: string | undefined) => JSON.parse(body ?? "") as Record<string, unknown>;

describe("a handler that works longer than its lease", () => {
  test("is not run again by a delivery every eight seconds, four leases long, since its heartbeat holds it (I01)", async () => {
    const work = held();
    let runs = 0;
    const job = scripted(
      (context) => {
        runs += 1;
        return work.run(context);
      },
      { leaseSeconds: 20, timeoutSeconds: 600 },
    );
    const instance = flow.start([job]);
    const jobId = await flow.create(TYPE, {});
    const delivery = flow.qstash.deliverDue();
    await work.started;
    for (let second = 8; second <= 80; second += 8) {
      await flow.elapse(8, 2);
      const answers = [
        await sendAgain(flow, instance.captured[0]),
        await sendAgain(flow, instance.captured[0], { "upstash-message-id": "msg_other" }),
      ];
      expect(answers).toMatchObject([
        { status: 409, body: { code: "job_running" } },
        { status: 200, body: { outcome: "noop", reason: "running" } },
      ]);
      expect(Number(answers[0]?.headers.get("retry-after"))).toBeLessThanOrEqual(24);
    }
    expect(await flow.sweep()).toMatchObject({ leasesRecovered: 0 });
    work.release();
    expect(await delivery).toMatchObject([{ status: 200 }]);
    expect(runs).toBe(1);
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("without its heartbeat it would be run again: the lease, not the guard of the claim, ends (control)", async () => {
    const work = held();
    const job = scripted(byAttempt(work.run, succeed("second")), { leaseSeconds: 5 });
    const instance = flow.start([job]);
    instance.ports.rule = ({ method }) => (method === "heartbeat" ? "fail" : undefined);
    const jobId = await flow.create(TYPE, {});
    const lost = flow.qstash.deliverDue();
    await work.started;
    await flow.elapse(6);
    expect(await sendAgain(flow, instance.captured[0])).toMatchObject({
      status: 200,
      body: { outcome: "completed" },
    });
    work.release();
    await lost;
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 2 });
  });

  test("the carrier gives up and delivers again: no second run, side effects once (H08)", async () => {
    const work = held();
    const effects: number[] = [];
    const job = scripted(
      async (context) => {
        await context.once("charge", () => void effects.push(1));
        return work.run(context);
      },
      { timeoutSeconds: 120, leaseSeconds: 30 },
    );
    const instance = flow.start([job]);
    const jobId = await flow.create(TYPE, {});
    const delivery = flow.qstash.deliverDue();
    await work.started;
    for (const retried of [1, 2, 3]) {
      await flow.elapse(30, 5);
      expect(
        await sendAgain(flow, instance.captured[0], { "upstash-retried": `${retried}` }),
      ).toMatchObject({ status: 409, body: { code: "job_running" } });
    }
    work.release();
    await delivery;
    expect(effects).toEqual([1]);
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
    expect(instance.ports.calls.filter(({ method }) => method === "heartbeat").length).toBe(9);
  });

  test("a few heartbeats that find no database are made up for by the next (H08)", async () => {
    const work = held();
    const instance = flow.start([scripted(work.run, { leaseSeconds: 30 })]);
    let beats = 0;
    instance.ports.rule = ({ method }) => {
      if (method !== "heartbeat") return undefined;
      beats += 1;
      return beats <= 2 ? "fail" : undefined;
    };
    const jobId = await flow.create(TYPE, {});
    const delivery = flow.qstash.deliverDue();
    const { signal } = await work.started;
    await flow.elapse(50);
    expect(signal.aborted).toBe(false);
    expect(flow.logs.filter(({ event }) => event === "heartbeat_failed")).toHaveLength(2);
    work.release();
    await delivery;
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });
});

describe("a claim whose answer comes late", () => {
  test("keeps the full lease of its type, however much of it is gone (I01)", async () => {
    const work = held();
    const instance = flow.start([scripted(work.run, { leaseSeconds: 5 })]);
    const jobId = await flow.create(TYPE, {});
    // The first try is carried out, and its answer missed until the call's own time limit.
    instance.ports.rule = async ({ method, args }) => {
      instance.ports.rule = undefined;
      expect(method).toBe("claim");
      await storeOver(flow.database).claim(args[0] as ClaimRequest);
      await flow.database.advance(8);
      return undefined;
    };
    const delivery = flow.qstash.deliverDue();
    await work.started;
    await flow.elapse(4);
    const beats = instance.ports.calls.filter(({ method }) => method === "heartbeat");
    expect(beats.map(({ args }) => (args[0] as { leaseSeconds: number }).leaseSeconds)).toEqual([
      5, 5,
    ]);
    const [lease] = await flow.query("select lock_until > now() as alive from jobs");
    expect(lease).toEqual({ alive: true });
    work.release();
    await delivery;
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });
});

describe("an attempt that lost its lease", () => {
  /** A stalls, its lease ends, B takes the job over by A's own message and ends as told. */
  async function takeOver(second: Parameters<typeof scripted>[0], lateEnd: (a: Late) => void) {
    const work = held();
    const first = flow.start([scripted(byAttempt(work.run, second), { ...LONG })]);
    first.ports.rule = ({ method }) => (method === "heartbeat" ? "fail" : undefined);
    const jobId = await flow.create(TYPE, {}, { maxAttempts: 5 });
    const lost = flow.qstash.deliverDue();
    const context = await work.started;
    await flow.advance(61);
    flow.start([scripted(second, { ...LONG })]);
    const taken = await sendAgain(flow, first.captured[0], { "upstash-retried": "1" });
    const row = await flow.row(jobId);
    lateEnd({ ...work, context });
    await lost;
    return { jobId, first, taken, row };
  }
  type Late = ReturnType<typeof held> & { context: Parameters<Parameters<typeof scripted>[0]>[0] };

  const lateEnds = [
    { late: "completed", end: ({ release }: Late) => release("a"), detail: "a" },
    { late: "retry", end: ({ fail }: Late) => fail(new Error("a")), detail: null },
    { late: "fatal", end: ({ fail }: Late) => fail({ status: 422 }), detail: null },
    {
      late: "snooze",
      end: ({ context, fail }: Late) => {
        try {
          context.snooze(5);
        } catch (signal) {
          fail(signal);
        }
      },
      detail: null,
    },
  ];
  const seconds = [
    { status: "completed", run: succeed("b") },
    { status: "failed", run: throws(new Error("b")) },
    { status: "dead_letter", run: throws({ status: 400, message: "b" }) },
    {
      status: "queued",
      run: ({ snooze }: { snooze: (seconds: number) => never }) => snooze(60),
    },
  ];
  const pairs = lateEnds.flatMap((late) => seconds.map((second) => ({ ...late, second })));

  test.each(pairs)(
    "that ends late as $late changes nothing of a job that is $second.status by then (I02)",
    async ({ late, end, detail, second }) => {
      const { jobId, first, row } = await takeOver(second.run, end);
      expect(row).toMatchObject({ status: second.status, attempts: 2 });
      expect(await flow.row(jobId)).toEqual(row);
      const [lost, won, ...more] = await flow.attempts(jobId);
      expect(lost).toMatchObject({
        number: 1,
        outcome: "lease_expired",
        error_code: "lease_expired",
        late_outcome: late,
        late_detail: detail,
      });
      expect(lost?.late_at).toBeInstanceOf(Date);
      expect(won).toMatchObject({ number: 2, late_outcome: null });
      expect(more).toEqual([]);
      expect(first.ports.calls.filter(({ port }) => port === "trigger")).toHaveLength(1);
      expect(flow.logs).toContainEqual(
        expect.objectContaining({ event: "attempt_lease_lost", jobId, attempt: 1, late }),
      );
    },
  );

  test("has its heartbeat refused, sees its signal abort, and can start no effect (I05)", async () => {
    const work = held();
    const first = flow.start([scripted(work.run, { ...LONG })]);
    let paused = true;
    first.ports.rule = ({ method }) => (method === "heartbeat" && paused ? "fail" : undefined);
    const jobId = await flow.create(TYPE, {});
    const lost = flow.qstash.deliverDue();
    const { signal, once, progress } = await work.started;
    await flow.advance(61);
    const other = held();
    flow.start([scripted(other.run, { ...LONG })]);
    const taken = sendAgain(flow, first.captured[0]);
    await other.started;
    const { lock_token, lock_until } = await flow.row(jobId);

    paused = false;
    await first.timers.advance(30_000);
    await flow.settled();
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toMatchObject({ name: "LeaseLostError" });
    await expect(once("charge", () => 1)).rejects.toMatchObject({ name: "LeaseLostError" });
    await expect(progress({ at: 1 })).rejects.toMatchObject({ name: "LeaseLostError" });
    expect(await flow.row(jobId)).toMatchObject({ lock_token, lock_until, progress_json: null });
    expect(await flow.effects(jobId)).toEqual([]);

    work.release("a");
    expect(outcomeOf((await lost)[0]?.body)).toEqual({ outcome: "noop", reason: "lease_lost" });
    other.release("b");
    expect((await taken).body).toMatchObject({ outcome: "completed" });
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", result: "b", attempts: 2 });
  });

  test("that was recovered by a sweep cannot finish the job that waits for its backoff (I02)", async () => {
    const work = held();
    const first = flow.start([scripted(byAttempt(work.run, succeed("b")), { ...LONG })]);
    first.ports.rule = ({ method }) => (method === "heartbeat" ? "fail" : undefined);
    const jobId = await flow.create(TYPE, {});
    const lost = flow.qstash.deliverDue();
    await work.started;
    await flow.advance(61);
    expect(await flow.sweep()).toMatchObject({ leasesRecovered: 1 });
    const row = await flow.row(jobId);
    expect(row).toMatchObject({ status: "failed", attempts: 1 });
    work.release("a");
    await lost;
    expect(await flow.row(jobId)).toEqual(row);
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", result: "b", attempts: 2 });
  });
});

describe("a lease that ran out but was taken by nobody", () => {
  test("is still its holder's: its finish is recorded, and nothing is repeated (I02)", async () => {
    const work = held();
    const instance = flow.start([scripted(work.run, { ...LONG })]);
    instance.ports.rule = ({ method }) => (method === "heartbeat" ? "fail" : undefined);
    const jobId = await flow.create(TYPE, {});
    const delivery = flow.qstash.deliverDue();
    await work.started;
    await flow.advance(61);
    expect(Date.parse((await flow.job(jobId)).lockedUntil ?? "")).toBeLessThan(flow.qstash.now());
    work.release("a");
    expect(outcomeOf((await delivery)[0]?.body)).toMatchObject({ outcome: "completed" });
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", result: "a", attempts: 1 });
    expect(await flow.attempts(jobId)).toMatchObject([{ outcome: "completed", late_at: null }]);
  });
});
