import { describe, expect, test, vi } from "vitest";
import * as z from "zod";
import {
  aborted,
  byAttempt,
  type Handler,
  held,
  scripted,
  succeed,
  TYPE,
} from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";

const flow = setUpFlow();

const TIMED_OUT = {
  status: "failed",
  attempts: 1,
  lastError: { code: "timeout", message: "the attempt was stopped after 10 s", retryable: true },
};

/** Begins a delivery and returns once its handler is in its work. */
async function begin(run: Handler, settings: Parameters<typeof scripted>[1] = {}) {
  const started = Promise.withResolvers<AbortSignal>();
  const entering: Handler = (context) => {
    started.resolve(context.signal);
    return run(context);
  };
  flow.start([scripted(byAttempt(entering, succeed()), { timeoutSeconds: 10, ...settings })]);
  const jobId = await flow.create(TYPE, {});
  const delivery = flow.qstash.deliverDue();
  return { jobId, delivery, signal: await started.promise };
}

describe("a handler whose time is up", () => {
  test("sees its signal abort at its timeout, not before, and fails as a timeout", async () => {
    const { jobId, delivery, signal } = await begin(async (context) => {
      throw await aborted(context.signal);
    });
    await flow.elapse(9);
    expect(signal.aborted).toBe(false);
    await flow.elapse(1);
    expect(signal.reason).toMatchObject({ name: "AttemptAbortedError", reason: "timeout" });
    expect(await delivery).toMatchObject([{ status: 200 }]);
    expect(await flow.job(jobId)).toMatchObject(TIMED_OUT);
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 2 });
  });

  test.each([
    ["an error of its own", new Error("the socket was closed")],
    ["a fatal error", Object.assign(new Error("gave up"), { name: "FatalError" })],
    ["undefined", undefined],
    ["an HTTP status", { status: 400 }],
  ])("that throws %s then has timed out all the same", async (_, value) => {
    const { jobId, delivery } = await begin(async (context) => {
      await aborted(context.signal);
      throw value;
    });
    await flow.elapse(10);
    await delivery;
    expect(await flow.job(jobId)).toMatchObject(TIMED_OUT);
  });

  test("that returns within its grace has completed: what is done is done", async () => {
    const { jobId, delivery } = await begin(async (context) => {
      await aborted(context.signal);
      return "just in time";
    });
    await flow.elapse(10);
    await delivery;
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", result: "just in time" });
  });

  test("that ignores its signal is left behind, and what it does later changes nothing", async () => {
    const work = held();
    const later: unknown[] = [];
    const { jobId, delivery } = await begin(async (context) => {
      const result = await work.run(context);
      later.push(await context.once("charge", () => 1).catch(({ name }) => name));
      later.push(await context.progress(1).catch(({ name }) => name));
      return result;
    });
    await flow.elapse(11);
    expect(await flow.job(jobId)).toMatchObject({ status: "processing" });
    await flow.elapse(2);
    expect(await delivery).toMatchObject([{ status: 200 }]);
    expect(await flow.job(jobId)).toMatchObject(TIMED_OUT);
    const row = await flow.row(jobId);

    work.release("too late");
    await expect.poll(() => later).toEqual(["LeaseLostError", "LeaseLostError"]);
    await flow.settled();
    expect(await flow.row(jobId)).toEqual(row);
    expect(await flow.effects(jobId)).toEqual([]);
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 2 });
  });

  test("counts from its schema on, which may ask somebody: nothing starts after its end", async () => {
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<boolean>();
    const slow = z.unknown().refine(() => {
      asked.resolve();
      return answer.promise;
    });
    const run = vi.fn(succeed());
    const settings = { timeoutSeconds: 10, leaseSeconds: 6 };
    flow.start([scripted(run, settings)]);
    const jobId = await flow.create(TYPE, {});
    flow.start([scripted(run, { ...settings, payload: slow })]);
    const delivery = flow.qstash.deliverDue();
    await asked.promise;
    await flow.elapse(9);
    expect(await flow.sweep()).toMatchObject({ leasesRecovered: 0 });
    await flow.elapse(3);
    expect(await delivery).toMatchObject([{ status: 200 }]);
    expect(await flow.job(jobId)).toMatchObject(TIMED_OUT);
    answer.resolve(true);
    await flow.settled();
    expect(run).not.toHaveBeenCalled();
  });

  test("has no timer left once it ended in time", async () => {
    const work = held();
    const { delivery } = await begin(work.run);
    expect(flow.instance.timers.waiting()).toBe(2);
    work.release();
    await delivery;
    expect(flow.instance.timers.waiting()).toBe(0);
  });

  test("on its last attempt is a dead letter", async () => {
    const work = held();
    flow.start([scripted(work.run, { timeoutSeconds: 10, maxAttempts: 1 })]);
    const jobId = await flow.create(TYPE, {});
    const delivery = flow.qstash.deliverDue();
    await work.started;
    await flow.elapse(13);
    await delivery;
    expect(await flow.job(jobId)).toMatchObject({
      status: "dead_letter",
      lastError: { code: "timeout", retryable: false },
    });
  });

  test("that was asked to cancel meanwhile ends as cancelled", async () => {
    const work = held();
    const { jobId, delivery, signal } = await begin(work.run, { leaseSeconds: 60 });
    expect((await flow.request("POST", `/api/jobs/${jobId}/cancel`)).status).toBe(202);
    await flow.elapse(13);
    await delivery;
    expect(signal.aborted).toBe(true);
    expect(await flow.job(jobId)).toMatchObject({ status: "cancelled", attempts: 1 });
  });

  test("may still snooze while it cleans up", async () => {
    const { jobId, delivery } = await begin(async (context) => {
      await aborted(context.signal);
      return context.snooze(5);
    });
    await flow.elapse(10);
    await delivery;
    expect(await flow.job(jobId)).toMatchObject({ status: "queued", attemptsLeft: 8 });
  });
});

describe("the platform's own deadline", () => {
  test("stops a handler in time to record it, however long its timeout", async () => {
    const work = held();
    flow.start([scripted(work.run, { timeoutSeconds: 45 })], { env: { MAX_RUN_SECONDS: "60" } });
    const jobId = await flow.create(TYPE, {});
    const delivery = flow.qstash.deliverDue();
    const { signal } = await work.started;
    await flow.elapse(44, 4);
    expect(signal.aborted).toBe(false);
    await flow.elapse(3);
    await delivery;
    expect(await flow.job(jobId)).toMatchObject({
      status: "failed",
      lastError: { code: "timeout" },
    });
  });

  test("that is shorter than a type's timeout and its reserve refuses to start", () => {
    expect(() =>
      flow.start([scripted(succeed(), { timeoutSeconds: 46 })], { env: { MAX_RUN_SECONDS: "60" } }),
    ).toThrow("MAX_RUN_SECONDS");
  });

  test("QStash waits longer than the handler may take", async () => {
    const { delivery } = await begin(held().run);
    await flow.elapse(13);
    // An answer at the end of the timeout and its grace still counts for QStash.
    expect(await delivery).toMatchObject([{ status: 200, outcome: "delivered" }]);
  });
});
