import { describe, expect, test } from "vitest";
import { RetryAfterError } from "../../src/core/define-job.js";
import { byAttempt, type Handler, scripted, succeed, TYPE, throws } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";

const flow = setUpFlow();

/** Delays of all failures so far, in seconds of the database's clock. */
async function delayAfterLast(): Promise<number> {
  const [row] = await flow.query(
    "select extract(epoch from next_run_at - updated_at)::float8 as seconds from jobs",
  );
  return Number(row?.seconds);
}

/** Runs a job to its end and gives the delay after each of its failures. */
async function delaysOf(jobId: string): Promise<number[]> {
  const delays: number[] = [];
  for (;;) {
    await flow.qstash.deliverDue();
    if ((await flow.job(jobId)).status !== "failed") return delays;
    delays.push(await delayAfterLast());
    const [message] = flow.qstash.pending();
    await flow.advance(Math.max(0, (message?.dueAt ?? 0) - flow.qstash.now()) / 1000);
  }
}

/** Numbers in [0, 1) that are the same in every run. */
function fixedRandom(seed = 1): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

describe("the wait between attempts", () => {
  test("grows from the base and never beyond the maximum (K01)", async () => {
    flow.start([scripted(throws("no"), { backoff: { baseSeconds: 10, maxSeconds: 600 } })]);
    const jobId = await flow.create(TYPE, {}, { maxAttempts: 12 });
    expect(await delaysOf(jobId)).toEqual([10, 20, 40, 80, 160, 320, 600, 600, 600, 600, 600]);
    expect(await flow.job(jobId)).toMatchObject({ status: "dead_letter", attempts: 12 });
  });

  test("is at least a second, also after many attempts from the smallest base (K01)", async () => {
    flow.start([scripted(throws("no"), { backoff: { baseSeconds: 1, maxSeconds: 1 } })]);
    const jobId = await flow.create(TYPE, {}, { maxAttempts: 20 });
    expect(await delaysOf(jobId)).toEqual(Array.from({ length: 19 }, () => 1));
  });

  test("is that of the type's own settings, and by default 30 s to an hour with 15 s of jitter (K01)", async () => {
    const jittered = { baseSeconds: 30, maxSeconds: 3600, jitterSeconds: 15 };
    flow.start([scripted(throws("no"), { backoff: jittered })], { random: () => 0.999 });
    const jobId = await flow.create(TYPE, {}, { maxAttempts: 10 });
    const delays = await delaysOf(jobId);
    expect(delays[0]).toBeCloseTo(44.985, 3);
    expect(delays.at(-1)).toBeCloseTo(3614.985, 3);
    expect(Math.max(...delays)).toBeLessThanOrEqual(3615);
  });

  test("of 100 jobs that fail in the same second is spread over the jitter (K03)", async () => {
    const backoff = { baseSeconds: 30, jitterSeconds: 15 };
    flow.start([scripted(throws("no"), { backoff })], { random: fixedRandom() });
    const jobs = Array.from({ length: 100 }, (_, n) => ({ type: TYPE, payload: n }));
    await flow.request("POST", "/api/jobs/batch", { body: { jobs } });
    await flow.qstash.deliverDue();
    const seconds = await flow.query(
      `select floor(extract(epoch from next_run_at - updated_at))::int as second, count(*)::int
       from jobs where status = 'failed' group by 1`,
    );
    const counts = seconds.map(({ count }) => Number(count));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(100);
    expect(Math.max(...counts)).toBeLessThanOrEqual(20);
    expect(seconds.length).toBeGreaterThanOrEqual(13);
    for (const { second } of seconds) {
      expect(second).toBeGreaterThanOrEqual(30);
      expect(second).toBeLessThan(45);
    }
  });

  test("after a lease that a sweep recovered is the same backoff, by the budget used (K01)", async () => {
    const instance = flow.start([scripted(byAttempt(throws("no"), () => new Promise(() => {})))]);
    instance.ports.rule = ({ method }) => (method === "heartbeat" ? "fail" : undefined);
    const jobId = await flow.create(TYPE, {});
    await flow.qstash.deliverDue();
    await flow.advance(32);
    void flow.qstash.deliverDue();
    await expect.poll(() => flow.job(jobId)).toMatchObject({ status: "processing", attempts: 2 });
    await flow.database.advance(91);
    await flow.sweep();
    expect(await flow.job(jobId)).toMatchObject({ status: "failed", attempts: 2 });
    expect(await delayAfterLast()).toBe(60);
  });
});

describe("two layers that could retry", () => {
  test("run a failing job exactly max_attempts times, at its own times, whatever answers are lost (K09)", async () => {
    const ranAt: number[] = [];
    flow.start([
      scripted((context) => {
        ranAt.push(flow.qstash.now() / 1000);
        return throws("no")(context);
      }),
    ]);
    const jobId = await flow.create(TYPE, {}, { maxAttempts: 3 });
    flow.qstash.setFaults({ loseAnswerRate: 0.5 });
    await flow.runUntilIdle();
    flow.qstash.setFaults({ loseAnswerRate: 0 });
    expect(ranAt).toHaveLength(3);
    expect((ranAt[1] ?? 0) - (ranAt[0] ?? 0)).toBeGreaterThanOrEqual(30);
    expect((ranAt[2] ?? 0) - (ranAt[1] ?? 0)).toBeGreaterThanOrEqual(60);
    expect(await flow.job(jobId)).toMatchObject({ status: "dead_letter", attempts: 3 });
  });

  test("a handler's failure is an answer that QStash does not repeat (K09)", async () => {
    for (const value of ["no", { status: 500 }, { status: 429 }, new RetryAfterError(10)]) {
      flow.start([scripted(throws(value))]);
      await flow.create(TYPE, {});
      expect(await flow.deliverOne()).toMatchObject({ status: 200, outcome: "delivered" });
      for (const { messageId } of flow.qstash.pending()) flow.qstash.drop(messageId);
    }
  });
});

describe("a wait that the target asked for", () => {
  test.each([
    ["seconds", () => 120],
    ["a date", () => new Date(Date.now() + 120_000)],
  ])("as %s is honoured instead of the backoff, and spends budget (K05)", async (_, wish) => {
    const asks: Handler = () => {
      throw new RetryAfterError(wish(), "slow down");
    };
    flow.start([scripted(byAttempt(asks, throws("no"), succeed()))]);
    const jobId = await flow.create(TYPE, {}, { maxAttempts: 3 });
    await flow.qstash.deliverDue();
    expect(Math.abs((await delayAfterLast()) - 120)).toBeLessThanOrEqual(1);
    expect(await flow.job(jobId)).toMatchObject({
      status: "failed",
      attemptsLeft: 2,
      lastError: { code: "handler_error", message: "slow down", retryable: true },
    });
    await flow.advance(122);
    await flow.qstash.deliverDue();
    // The second failure's own backoff: the wish counted as the first.
    expect(await delayAfterLast()).toBe(60);
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 3 });
  });

  test("does not help a job whose budget is used up (K05)", async () => {
    flow.start([scripted(throws(new RetryAfterError(5, "later", { code: "rate_limited" })))]);
    const jobId = await flow.create(TYPE, {}, { maxAttempts: 1 });
    await flow.qstash.deliverDue();
    expect(await flow.job(jobId)).toMatchObject({
      status: "dead_letter",
      lastError: { code: "rate_limited", retryable: false },
    });
  });

  test("with an HTTP status that would be final still waits: the error is what its author meant (K05)", async () => {
    const error = Object.assign(new RetryAfterError(7), { status: 404 });
    flow.start([scripted(throws(error))]);
    const jobId = await flow.create(TYPE, {});
    await flow.qstash.deliverDue();
    expect(await flow.job(jobId)).toMatchObject({ status: "failed" });
    expect(await delayAfterLast()).toBe(7);
  });
});

describe("the history of a job", () => {
  test("has one row for each attempt, numbered, dated and in order", async () => {
    flow.start([
      scripted(byAttempt(throws("a"), throws({ status: 503, message: "b" }), succeed())),
    ]);
    const jobId = await flow.create(TYPE, {});
    await flow.runUntilIdle();
    const history = await flow.attempts(jobId);
    expect(history).toMatchObject([
      { number: 1, outcome: "failed", error_code: "handler_error", error_message: "a" },
      { number: 2, outcome: "failed", error_code: "http_503", error_message: "b" },
      { number: 3, outcome: "completed", error_code: null, error_message: null },
    ]);
    expect(new Set(history.map(({ lock_token }) => lock_token)).size).toBe(3);
    const dates = history.flatMap(({ started_at, finished_at }) => [started_at, finished_at]);
    expect(dates.map(Number)).toEqual(dates.map(Number).sort((a, b) => a - b));
    const { startedAt, finishedAt } = await flow.job(jobId);
    expect(Date.parse(startedAt ?? "")).toBe(Number(history[0]?.started_at));
    expect(Date.parse(finishedAt ?? "")).toBe(Number(history[2]?.finished_at));
    expect(await flow.events(jobId)).toEqual([]);
  });

  test("seq grows by one with each message, and each has a deduplication id of its own", async () => {
    const instance = flow.start([scripted(byAttempt(throws("a"), throws("b"), succeed()))]);
    const jobId = await flow.create(TYPE, {});
    await flow.runUntilIdle();
    const seqs = await Promise.all(
      instance.captured.map(async (each) => ((await each.json()) as { seq: number }).seq),
    );
    expect(seqs).toEqual([1, 2, 3]);
    expect(await flow.row(jobId)).toMatchObject({ trigger_seq: 3 });
  });
});
