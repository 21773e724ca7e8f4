import { describe, expect, test } from "vitest";
import { send } from "../support/flow-delivery.js";
import { byAttempt, scripted, succeed, TYPE, throws } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";

const flow = setUpFlow();

/** A type that writes down when it ran, in seconds of the virtual clock. */
function dated() {
  const ranAt: number[] = [];
  const job = scripted(() => {
    ranAt.push(flow.qstash.now() / 1000);
  });
  return { ranAt, job };
}

const publishes = () => flow.qstash.counts().publishRequests;

describe("a delivery that comes early", () => {
  test.each([
    { early: 30, furtherMessages: 1 },
    { early: 10, furtherMessages: 1 },
    { early: 1.5, furtherMessages: 0 },
    { early: 0.2, furtherMessages: 0 },
  ])(
    "$early s before its time: the job runs once, not early, with $furtherMessages further message (H05)",
    async ({ early, furtherMessages }) => {
      const { ranAt, job } = dated();
      flow.start([job]);
      const jobId = await flow.create(TYPE, {}, { delaySeconds: 120 });
      const dueAt = Date.parse((await flow.job(jobId)).nextRunAt ?? "") / 1000;
      const [message] = flow.qstash.pending();
      const before = publishes();
      await flow.advance(120 - early);
      const { status } = await flow.qstash.deliver(message?.messageId ?? "", { early: true });
      expect(status).toBe(200);
      await flow.runUntilIdle();

      expect(ranAt).toHaveLength(1);
      expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
      const startedAt = Date.parse((await flow.job(jobId)).startedAt ?? "") / 1000;
      expect(startedAt).toBeGreaterThanOrEqual(dueAt);
      expect(startedAt).toBeLessThan(dueAt + 30);
      expect(publishes() - before).toBe(furtherMessages);
    },
  );

  test("sent five times, it makes one further message and one run (H05)", async () => {
    const { ranAt, job } = dated();
    const instance = flow.start([job]);
    const jobId = await flow.create(TYPE, {}, { delaySeconds: 120 });
    const [message] = flow.qstash.pending();
    await flow.qstash.deliverTwice(message?.messageId ?? "", { early: true });
    for (let n = 0; n < 3; n += 1) await instance.fetch((instance.captured[0] as Request).clone());
    expect(flow.qstash.pending()).toHaveLength(1);
    await flow.runUntilIdle();
    expect(ranAt).toHaveLength(1);
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("the next message is relative and never shorter than what is left (H05)", async () => {
    flow.start([scripted(succeed())]);
    const jobId = await flow.create(TYPE, {}, { delaySeconds: 100 });
    await flow.advance(10.25);
    const left = async () => {
      const [row] = await flow.query(
        "select extract(epoch from next_run_at - now())::float8 as seconds from jobs",
      );
      return Number(row?.seconds);
    };
    const most = await left();
    expect(await send(flow, { jobId, seq: 1 })).toMatchObject({
      status: 200,
      body: { outcome: "hopped" },
    });
    const hop = flow.qstash
      .pending()
      .find(({ deduplicationId }) => deduplicationId?.endsWith("_2"));
    // By the carrier's own clock, from when it was published, rounded up.
    const delay = ((hop?.dueAt ?? 0) - flow.qstash.now()) / 1000;
    expect(delay).toBeGreaterThanOrEqual(await left());
    expect(delay).toBeLessThanOrEqual(most + 1);
    expect(await flow.row(jobId)).toMatchObject({ trigger_seq: 2, status: "queued" });
  });

  test("when the next message cannot be published, the delivery comes back and nothing is lost", async () => {
    const { ranAt, job } = dated();
    flow.start([job]);
    const jobId = await flow.create(TYPE, {}, { delaySeconds: 60 });
    const [message] = flow.qstash.pending();
    flow.qstash.refusePublishes({ status: 503 });
    const early = await flow.qstash.deliver(message?.messageId ?? "", { early: true });
    expect(early).toMatchObject({ status: 503, outcome: "retry" });
    expect(JSON.parse(early.body)).toMatchObject({ code: "publish_failed" });
    expect(Number(early.headers["retry-after"])).toBeGreaterThanOrEqual(59);
    flow.qstash.refusePublishes(null);
    await flow.runUntilIdle();
    expect(ranAt).toHaveLength(1);
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("when the next message is out but could not be noted, the repeat makes no second one", async () => {
    const { ranAt, job } = dated();
    const instance = flow.start([job]);
    const jobId = await flow.create(TYPE, {}, { delaySeconds: 60 });
    const [message] = flow.qstash.pending();
    instance.ports.rule = ({ method }) => (method === "markHopped" ? "fail" : undefined);
    const early = await flow.qstash.deliver(message?.messageId ?? "", { early: true });
    expect(early).toMatchObject({ status: 503, outcome: "retry" });
    instance.ports.rule = undefined;
    await flow.advance(16);
    await flow.qstash.deliverDue();
    expect(flow.qstash.pending()).toHaveLength(1);
    await flow.runUntilIdle();
    expect(ranAt).toHaveLength(1);
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });
});

describe("a delivery that comes late or out of order", () => {
  test("three messages of one job in reverse order run its three attempts in its own time", async () => {
    flow.start([scripted(byAttempt(throws("1"), throws("2"), succeed()))]);
    const jobId = await flow.create(TYPE, {});
    await flow.qstash.deliverDue();
    await flow.advance(32);
    const [second] = flow.qstash.pending();
    // The first message once more, as if it had been delayed: an older seq is only a permit.
    expect(await send(flow, { jobId, seq: 1 })).toMatchObject({
      body: { outcome: "rescheduled", ranJobId: jobId },
    });
    expect(await flow.job(jobId)).toMatchObject({ status: "failed", attempts: 2 });
    // The second finds a job that waits for its third time, with a newer message under way.
    const late = await flow.qstash.deliver(second?.messageId ?? "");
    expect(JSON.parse(late.body)).toEqual({ outcome: "noop", reason: "nothing_due" });
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 3 });
  });

  test("a day late it still runs its job, once", async () => {
    const { ranAt, job } = dated();
    flow.start([job]);
    const jobId = await flow.create(TYPE, {});
    await flow.advance(86_400);
    await flow.runUntilIdle();
    expect(ranAt).toHaveLength(1);
    expect(await flow.job(jobId)).toMatchObject({ status: "completed" });
  });

  test("a seq from the future, as after a lost note of a hop, is no reason to run early", async () => {
    const { ranAt, job } = dated();
    flow.start([job]);
    const jobId = await flow.create(TYPE, {}, { delaySeconds: 300 });
    expect(await send(flow, { jobId, seq: 40 })).toMatchObject({ body: { outcome: "hopped" } });
    expect(ranAt).toEqual([]);
    expect(await flow.row(jobId)).toMatchObject({ trigger_seq: 41 });
    await flow.runUntilIdle();
    expect(ranAt).toHaveLength(1);
  });
});

describe("the database does not answer", () => {
  test.each([
    { retried: 0, retryAfter: "15" },
    { retried: 1, retryAfter: "120" },
    { retried: 2, retryAfter: "900" },
    { retried: 3, retryAfter: "900" },
  ])("at retry $retried QStash is asked to come back after $retryAfter s", async (row) => {
    flow.start([scripted(succeed())]);
    const jobId = await flow.create(TYPE, {});
    flow.database.neon.setFault({ action: "refuse" });
    const answer = await send(flow, { jobId, retried: row.retried });
    expect(answer).toMatchObject({ status: 503, body: { code: "store_unavailable" } });
    expect(answer.headers.get("retry-after")).toBe(row.retryAfter);
    flow.database.neon.setFault(null);
    expect(await flow.job(jobId)).toMatchObject({ status: "queued", attempts: 0 });
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("one refused call is bridged inside the delivery", async () => {
    flow.start([scripted(succeed())]);
    const jobId = await flow.create(TYPE, {});
    flow.database.neon.setFault({ action: "refuse", nth: 1 });
    expect(await flow.deliverOne()).toMatchObject({ status: 200 });
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("a claim whose answer is lost is repeated and counted once", async () => {
    flow.start([scripted(succeed())]);
    const jobId = await flow.create(TYPE, {});
    flow.database.neon.setFault({ action: "lose-answer", nth: 1 });
    expect(await flow.deliverOne()).toMatchObject({ status: 200 });
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
    expect(await flow.attempts(jobId)).toHaveLength(1);
  });
});
