import { describe, expect, test } from "vitest";
import { byAttempt, type Context, held, scripted, succeed, TYPE } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";

const flow = setUpFlow();

describe("a crash between an effect and its record", () => {
  /** Charges through the ledger; the downstream counts by the id that it was handed. */
  function charging() {
    const charged: string[] = [];
    const seen: string[] = [];
    const run = async ({ once, operationId }: Context) => {
      seen.push(operationId);
      return once("charge", (effect) => {
        charged.push(effect.operationId);
        return charged.length;
      });
    };
    return { charged, seen, job: scripted(run) };
  }

  test.each([
    { method: "beginEffect", when: "crash_before", charges: 1 },
    { method: "beginEffect", when: "crash_after", charges: 1 },
    { method: "endEffect", when: "crash_before", charges: 2 },
    { method: "endEffect", when: "crash_after", charges: 1 },
    { method: "finish", when: "crash_before", charges: 1 },
  ] as const)(
    "$when $method: run again under the same ids, the effect performed $charges times (I10)",
    async ({ method, when, charges }) => {
      const { charged, seen, job } = charging();
      const first = flow.start([job]);
      first.ports.rule = (call) => (call.method === method ? when : undefined);
      const jobId = await flow.create(TYPE, {});
      expect(await flow.deliverOne()).toMatchObject({ status: 0, outcome: "retry" });
      flow.start([job]);
      await flow.advance(91);
      expect(await flow.deliverOne()).toMatchObject({ status: 200 });

      expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 2 });
      expect(seen).toEqual([jobId, jobId]);
      expect(charged).toEqual(Array.from({ length: charges }, () => `${jobId}:charge`));
      expect(await flow.effects(jobId)).toMatchObject([{ name: "charge", state: "done" }]);
      const outcomes = (await flow.attempts(jobId)).map(({ outcome }) => outcome);
      expect(outcomes).toEqual(["lease_expired", "completed"]);
    },
  );

  test("after the finish is committed, the redelivery finds it recorded (I10)", async () => {
    const { charged, job } = charging();
    const first = flow.start([job]);
    first.ports.rule = ({ method }) => (method === "finish" ? "crash_after" : undefined);
    const jobId = await flow.create(TYPE, {});
    await flow.qstash.deliverDue();
    flow.start([job]);
    await flow.advance(13);
    expect(JSON.parse((await flow.deliverOne()).body)).toEqual({
      outcome: "noop",
      reason: "recorded",
    });
    expect(charged).toHaveLength(1);
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("after the finish of a failure, before the next message is published: the sweep publishes (I10)", async () => {
    const first = flow.start([
      scripted(
        byAttempt(() => {
          throw new Error("no");
        }, succeed()),
      ),
    ]);
    const jobId = await flow.create(TYPE, {});
    first.ports.rule = ({ method }) => (method === "publish" ? "crash_before" : undefined);
    await flow.qstash.deliverDue();
    for (const { messageId } of flow.qstash.pending()) flow.qstash.drop(messageId);
    flow.start([scripted(succeed())]);
    expect(await flow.job(jobId)).toMatchObject({ status: "failed" });
    // It looks published; a silent type is probed a minute after its due time.
    await flow.advance(95);
    expect(await flow.sweep()).toMatchObject({ probes: 1 });
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 2 });
  });
});

describe("the database refuses the final write", () => {
  test("for a moment: it is written in the same delivery (I11)", async () => {
    flow.start([scripted(succeed("once"))]);
    const jobId = await flow.create(TYPE, {});
    flow.database.neon.setFault({
      action: "status",
      status: 503,
      nth: 1,
      matching: (sql) => sql.startsWith("/* finish */"),
    });
    expect(await flow.deliverOne()).toMatchObject({ status: 200 });
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("its answer is lost: the repeat finds the outcome that is recorded (I11)", async () => {
    for (const run of [succeed("once"), () => Promise.reject(new Error("no"))]) {
      flow.start([scripted(run)]);
      const jobId = await flow.create(TYPE, {});
      flow.database.neon.setFault({
        action: "lose-answer",
        nth: 1,
        matching: (sql) => sql.startsWith("/* finish */"),
      });
      expect(await flow.deliverOne()).toMatchObject({ status: 200 });
      expect(await flow.attempts(jobId)).toHaveLength(1);
      expect(await flow.row(jobId)).toMatchObject({ attempts: 1, lock_token: null });
    }
    // The failed one waits with exactly one message.
    expect(flow.qstash.pending()).toHaveLength(1);
  });

  test.each([10, 120, 3000])(
    "for %i s: one terminal state, no endless re-run, effects of once done once (I11)",
    async (seconds) => {
      let runs = 0;
      const charged: number[] = [];
      const job = scripted(async ({ once }) => {
        runs += 1;
        await once("charge", () => void charged.push(1));
        return "paid";
      });
      flow.start([job]);
      const jobId = await flow.create(TYPE, {});
      const until = flow.qstash.now() + seconds * 1000;
      flow.database.neon.setFault({
        action: "refuse",
        matching: (sql) => sql.startsWith("/* finish */"),
      });
      for (let sweeps = 0; sweeps < 4; sweeps += 1) {
        while (flow.qstash.pending().length > 0) {
          const dueAt = Math.min(...flow.qstash.pending().map((each) => each.dueAt));
          await flow.advance(Math.max(0, (dueAt - flow.qstash.now()) / 1000));
          if (flow.qstash.now() >= until) flow.database.neon.setFault(null);
          await flow.qstash.deliverNext();
        }
        await flow.advance(900);
        if (flow.qstash.now() >= until) flow.database.neon.setFault(null);
        await flow.sweep();
      }
      expect(await flow.job(jobId)).toMatchObject({ status: "completed", result: "paid" });
      expect(charged).toEqual([1]);
      expect(runs).toBeLessThanOrEqual(8);
      expect(
        (await flow.attempts(jobId)).filter(({ outcome }) => outcome === "completed"),
      ).toHaveLength(1);
    },
  );

  test("for ever, and for one job only: it ends as a dead letter once its budget is used up (I11)", async () => {
    let runs = 0;
    flow.start([
      scripted(() => {
        runs += 1;
      }),
    ]);
    const jobId = await flow.create(TYPE, {}, { maxAttempts: 3 });
    flow.instance.ports.rule = ({ method }) => (method === "finish" ? "fail" : undefined);
    for (let sweeps = 0; sweeps < 8; sweeps += 1) {
      await flow.runUntilIdle();
      await flow.advance(900);
      await flow.sweep();
    }
    expect(runs).toBe(3);
    expect(await flow.job(jobId)).toMatchObject({ status: "dead_letter", attempts: 3 });
  });
});

describe("a handler that ends while something of its attempt is under way", () => {
  test("its heartbeat is awaited before the finish, so that no beat follows an end (I05)", async () => {
    const work = held();
    const beat = held();
    const instance = flow.start([scripted(work.run)]);
    instance.ports.rule = async ({ method }) => {
      if (method === "heartbeat") await beat.run({} as Context);
      return undefined;
    };
    const jobId = await flow.create(TYPE, {});
    const delivery = flow.qstash.deliverDue();
    await work.started;
    await flow.advance(20);
    await beat.started;
    work.release();
    await flow.settled();
    const methods = () => instance.ports.calls.map(({ method }) => method);
    expect(methods()).toEqual(["create", "publish", "claim", "heartbeat"]);
    beat.release();
    await delivery;
    await flow.elapse(60, 20);
    expect(methods()).toEqual(["create", "publish", "claim", "heartbeat", "finish"]);
    expect(await flow.row(jobId)).toMatchObject({ status: "completed", lock_until: null });
  });

  test("QStash gives up while the outcome is being written: it is written, and nothing is repeated (H08)", async () => {
    const writing = held();
    let runs = 0;
    const instance = flow.start([
      scripted(
        () => {
          runs += 1;
        },
        { timeoutSeconds: 10, leaseSeconds: 60 },
      ),
    ]);
    const jobId = await flow.create(TYPE, {});
    instance.ports.rule = async ({ method }) => {
      if (method === "finish") await writing.run({} as Context);
      return undefined;
    };
    const delivery = flow.qstash.deliverDue();
    await writing.started;
    await flow.advance(26);
    expect(await delivery).toMatchObject([{ status: 0, outcome: "retry" }]);
    instance.ports.rule = undefined;
    await flow.advance(13);
    const repeated = flow.qstash.deliverDue();
    expect(await repeated).toMatchObject([{ status: 409, outcome: "retry" }]);
    writing.release();
    await flow.settled();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
    await flow.runUntilIdle();
    expect(runs).toBe(1);
    expect(await flow.attempts(jobId)).toHaveLength(1);
  });
});

describe("leases that ran out with nobody to notice", () => {
  test("50 of them are all recovered by the first sweep after their lease, oldest first (I15)", async () => {
    const instance = flow.start([scripted(succeed())]);
    const jobs = Array.from({ length: 50 }, (_, n) => ({ type: TYPE, payload: n }));
    await flow.request("POST", "/api/jobs/batch", { body: { jobs } });
    instance.ports.rule = ({ method }) => (method === "finish" ? "crash_before" : undefined);
    await Promise.all(
      flow.qstash.pending().map(({ messageId }) => flow.qstash.deliver(messageId)),
    ).catch(() => {});
    for (const { messageId } of flow.qstash.pending()) flow.qstash.drop(messageId);
    // Those that the dying instance did not get to are claimed here.
    await flow.query(
      `update jobs set status = 'processing', attempts = 1, lock_token = gen_random_uuid(),
         lock_until = now() + interval '90 s', started_at = now(), attempt_started_at = now(),
         next_run_at = null, next_trigger_at = null
       where status = 'queued'`,
    );
    flow.start([scripted(succeed())]);
    await flow.advance(50);
    expect(await flow.sweep()).toMatchObject({ leasesRecovered: 0 });
    await flow.advance(41);
    expect(await flow.sweep()).toMatchObject({ leasesRecovered: 50 });
    await flow.runUntilIdle();
    expect(
      await flow.query("select status, attempts, count(*)::int from jobs group by 1, 2"),
    ).toEqual([{ status: "completed", attempts: 2, count: 50 }]);
    expect(
      await flow.query("select outcome, count(*)::int from job_attempts group by 1 order by 1"),
    ).toEqual([
      { outcome: "completed", count: 50 },
      { outcome: "lease_expired", count: 50 },
    ]);
  });

  test("a live lease is no sweep's business, however often it comes (I15)", async () => {
    const work = held();
    flow.start([scripted(work.run, { leaseSeconds: 30, timeoutSeconds: 600 })]);
    const jobId = await flow.create(TYPE, {});
    const delivery = flow.qstash.deliverDue();
    await work.started;
    for (let n = 0; n < 6; n += 1) {
      await flow.elapse(10);
      expect(await flow.sweep()).toMatchObject({ leasesRecovered: 0, published: 0, vanished: 0 });
    }
    work.release();
    await delivery;
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });
});
