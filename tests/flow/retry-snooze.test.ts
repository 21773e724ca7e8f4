import { describe, expect, test } from "vitest";
import {
  byAttempt,
  type Handler,
  held,
  scripted,
  succeed,
  TYPE,
  throws,
} from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";

const flow = setUpFlow();

const snoozes =
  (seconds: number): Handler =>
  ({ snooze }) =>
    snooze(seconds);

async function waitSeconds(): Promise<unknown> {
  const [row] = await flow.query(
    "select extract(epoch from next_run_at - updated_at)::float8 as s from jobs",
  );
  return row?.s;
}

describe("a snooze", () => {
  test("ten of them spend no budget and leave the backoff of a first failure (K07)", async () => {
    flow.start([scripted(byAttempt(...Array(10).fill(snoozes(5)), throws("no"), succeed()))]);
    const jobId = await flow.create(TYPE, {}, { maxAttempts: 2 });
    for (let n = 1; n <= 10; n += 1) {
      expect(JSON.parse((await flow.deliverOne()).body)).toMatchObject({ outcome: "snoozed" });
      expect(await flow.job(jobId)).toMatchObject({
        status: "queued",
        attempts: n,
        attemptsLeft: 2,
        lastError: null,
      });
      await flow.advance(7);
    }
    await flow.qstash.deliverDue();
    expect(await flow.job(jobId)).toMatchObject({
      status: "failed",
      attempts: 11,
      attemptsLeft: 1,
    });
    expect(await waitSeconds()).toBe(30);
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 12 });
    const outcomes = (await flow.attempts(jobId)).map(({ outcome }) => outcome);
    expect(outcomes).toEqual([...Array(10).fill("snoozed"), "failed", "completed"]);
  });

  test("of 0 seconds goes on at once in a new delivery, after the steps that are done (K07)", async () => {
    const done: string[] = [];
    const steps = ["a", "b", "c"];
    const instance = flow.start([
      scripted(async ({ once, snooze }) => {
        for (const step of steps) {
          const before = done.length;
          await once(step, () => void done.push(step));
          if (done.length > before && step !== "c") snooze(0);
        }
        return done.length;
      }),
    ]);
    const jobId = await flow.create(TYPE, {}, { maxAttempts: 1 });
    const now = flow.qstash.now();
    await flow.qstash.deliverDue();
    expect(flow.qstash.now()).toBe(now);
    expect(done).toEqual(steps);
    expect(instance.captured).toHaveLength(3);
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 3, result: 3 });
  });

  test.each([0.25, 1.5, 3600])("of %d seconds is that long (K07)", async (seconds) => {
    flow.start([scripted(byAttempt(snoozes(seconds), succeed()))]);
    const jobId = await flow.create(TYPE, {});
    await flow.runUntilIdle();
    const [first, second] = await flow.attempts(jobId);
    const gap = Number(second?.started_at) - Number(first?.finished_at);
    expect(gap).toBeGreaterThanOrEqual(seconds * 1000);
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 2 });
  });

  test.each([-1, Number.NaN, Number.POSITIVE_INFINITY, 366 * 86_400, "5", null, undefined])(
    "of %s is a mistake that ends the job (K07)",
    async (seconds) => {
      flow.start([scripted(snoozes(seconds as number))]);
      const jobId = await flow.create(TYPE, {});
      await flow.qstash.deliverDue();
      expect(await flow.job(jobId)).toMatchObject({
        status: "dead_letter",
        attempts: 1,
        lastError: { code: "fatal", message: expect.stringContaining("snooze takes") },
      });
    },
  );

  test("counts although the handler swallowed it, and its result does not (K07)", async () => {
    const swallowing: Handler = ({ snooze }) => {
      try {
        return snooze(60);
      } catch {
        return "as if nothing happened";
      }
    };
    flow.start([scripted(byAttempt(swallowing, succeed("real")))]);
    const jobId = await flow.create(TYPE, {});
    await flow.qstash.deliverDue();
    expect(await flow.job(jobId)).toMatchObject({ status: "queued", result: null });
    expect(await waitSeconds()).toBe(60);
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", result: "real" });
  });

  test("the thousandth is the last: the next one ends the job and says why (K07)", async () => {
    flow.start([scripted(snoozes(1))]);
    const jobId = await flow.create(TYPE, {}, { maxAttempts: 3 });
    await flow.query("update jobs set snoozes = 999, attempts = 999");
    await flow.qstash.deliverDue();
    expect(await flow.row(jobId)).toMatchObject({ status: "queued", snoozes: 1000 });
    await flow.advance(3);
    expect(JSON.parse((await flow.deliverOne()).body)).toMatchObject({ outcome: "dead_lettered" });
    expect(await flow.job(jobId)).toMatchObject({
      status: "dead_letter",
      attempts: 1001,
      lastError: { code: "snooze_limit", retryable: false },
    });
    expect((await flow.attempts(jobId)).at(-1)).toMatchObject({
      outcome: "dead_letter",
      error_code: "snooze_limit",
    });
    expect(flow.qstash.pending()).toEqual([]);

    // A replay counts them anew.
    expect((await flow.request("POST", `/api/jobs/${jobId}/replay`)).status).toBe(202);
    await flow.qstash.deliverDue();
    expect(await flow.row(jobId)).toMatchObject({ status: "queued", snoozes: 1 });
  });

  test("a failure at the limit of snoozes is still an ordinary one (K07)", async () => {
    flow.start([scripted(throws("no"))]);
    const jobId = await flow.create(TYPE, {}, { maxAttempts: 3 });
    await flow.query("update jobs set snoozes = 1000, attempts = 1000");
    await flow.qstash.deliverDue();
    expect(await flow.job(jobId)).toMatchObject({ status: "failed", attemptsLeft: 2 });
  });

  test("with a cancel request ends the job as cancelled (K07)", async () => {
    const work = held();
    flow.start([
      scripted(async (context) => {
        await work.run(context);
        return context.snooze(5);
      }),
    ]);
    const jobId = await flow.create(TYPE, {});
    const delivery = flow.qstash.deliverDue();
    await work.started;
    expect((await flow.request("POST", `/api/jobs/${jobId}/cancel`)).status).toBe(202);
    work.release();
    expect(JSON.parse((await delivery)[0]?.body ?? "")).toMatchObject({ outcome: "cancelled" });
    expect(await flow.job(jobId)).toMatchObject({ status: "cancelled", lastError: null });
    expect(flow.qstash.pending()).toEqual([]);
    expect(await flow.attempts(jobId)).toMatchObject([{ outcome: "cancelled", error_code: null }]);
  });

  test("keeps the error of an earlier failure for whoever looks (K07)", async () => {
    flow.start([scripted(byAttempt(throws("first"), snoozes(5), succeed()))]);
    const jobId = await flow.create(TYPE, {});
    await flow.qstash.deliverDue();
    await flow.advance(32);
    await flow.qstash.deliverDue();
    expect(await flow.job(jobId)).toMatchObject({
      status: "queued",
      lastError: { message: "first" },
    });
  });
});
