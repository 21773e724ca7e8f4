import { describe, expect, test, vi } from "vitest";
import { send } from "../support/flow-delivery.js";
import { byAttempt, scripted, succeed, TYPE, throws } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";
import { openTransaction } from "../support/race-session.js";
import { createJobs, newJob } from "../support/store.js";

const flow = setUpFlow();

/** Counts runs outside of the database. */
function counted() {
  const ran: unknown[] = [];
  return { ran, job: scripted(({ payload }) => void ran.push(payload)) };
}

const counts = () => flow.qstash.counts();

describe("a publish that fails", () => {
  test.each([500, 429, 400, 401, 412])(
    "with %i: the job is accepted, the next sweep publishes it, and it runs once (F01)",
    async (status) => {
      const { ran, job } = counted();
      flow.start([job]);
      flow.qstash.refusePublishes({ status });
      flow.database.neon.requests = 0;
      const jobId = await flow.create(TYPE, 1);
      // Create, and the mark that its message failed.
      expect(flow.database.neon.requests).toBe(2);
      expect(await flow.row(jobId)).toMatchObject({
        status: "queued",
        triggered_at: null,
        trigger_seq: 1,
      });
      expect(await flow.events(jobId)).toMatchObject([
        { kind: "published", data: { seq: 1, failed: true } },
      ]);
      expect(flow.logs).toContainEqual(
        expect.objectContaining({ event: "publish_failed", recorded: true, jobId }),
      );
      flow.qstash.refusePublishes(null);
      expect(await flow.sweep()).toMatchObject({ published: 1, publishFailures: 0 });
      await flow.runUntilIdle();
      expect(ran).toEqual([1]);
      expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
    },
  );

  test("for one of its two tries is made good in the same request (F01)", async () => {
    const { ran, job } = counted();
    flow.start([job]);
    flow.qstash.refusePublishes({ status: 500, times: 1 });
    const jobId = await flow.create(TYPE, 1);
    expect((await flow.row(jobId)).triggered_at).toBeInstanceOf(Date);
    await flow.qstash.deliverDue();
    expect(ran).toEqual([1]);
  });

  test("of a batch is made good by the sweep for every job of it (F01)", async () => {
    const { ran, job } = counted();
    flow.start([job]);
    flow.qstash.refusePublishes({ status: 500 });
    const jobs = Array.from({ length: 110 }, (_, n) => ({ type: TYPE, payload: n }));
    const response = await flow.request("POST", "/api/jobs/batch", { body: { jobs } });
    expect(response.status).toBe(202);
    expect(await flow.query("select count(*)::int from jobs where triggered_at is null")).toEqual([
      { count: 110 },
    ]);
    flow.qstash.refusePublishes(null);
    expect(await flow.sweep()).toMatchObject({ published: 110 });
    await flow.runUntilIdle();
    expect(new Set(ran).size).toBe(110);
    expect(ran).toHaveLength(110);
  });

  test("and whose mark fails, too, is found as a message that vanished (F01)", async () => {
    const { ran, job } = counted();
    const instance = flow.start([job]);
    flow.qstash.refusePublishes({ status: 500 });
    instance.ports.rule = ({ method }) => (method === "markUnpublished" ? "fail" : undefined);
    const jobId = await flow.create(TYPE, 1);
    expect((await flow.row(jobId)).triggered_at).toBeInstanceOf(Date);
    flow.qstash.refusePublishes(null);
    await flow.advance(61);
    expect(await flow.sweep()).toMatchObject({ published: 0, probes: 1 });
    await flow.runUntilIdle();
    expect(ran).toEqual([1]);
  });

  test("after an attempt: 200 to QStash, and the sweep owns the next message (F01)", async () => {
    flow.start([scripted(byAttempt(throws("no"), succeed()))]);
    const jobId = await flow.create(TYPE, {});
    flow.qstash.refusePublishes({ status: 503 });
    expect(await flow.deliverOne()).toMatchObject({ status: 200, outcome: "delivered" });
    expect(await flow.row(jobId)).toMatchObject({
      status: "failed",
      triggered_at: null,
      trigger_seq: 2,
    });
    flow.qstash.refusePublishes(null);
    await flow.advance(31);
    await flow.sweep();
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 2 });
  });

  test("because QStash does not answer ends within its time limit (F01)", async () => {
    const { ran, job } = counted();
    flow.start([job]);
    flow.qstash.refusePublishes("hang");
    const before = counts().publishRequests;
    const creating = flow.create(TYPE, 1);
    for (const tries of [1, 2]) {
      await expect.poll(() => counts().publishRequests - before).toBe(tries);
      await flow.instance.timers.advance(5000);
    }
    const jobId = await creating;
    expect(await flow.row(jobId)).toMatchObject({ triggered_at: null });
    expect(flow.logs).toContainEqual(expect.objectContaining({ cause: "timeout", jobId }));
    flow.qstash.refusePublishes(null);
    await flow.sweep();
    await flow.qstash.deliverDue();
    expect(ran).toEqual([1]);
  });

  test.each([{ status: 503 }, { status: 400 }, "cut"] as const)(
    "with %j writes its log line, with a cause, and nothing else to the console",
    async (fault) => {
      const console = ["error", "warn", "log"] as const;
      const spies = console.map((name) => vi.spyOn(globalThis.console, name));
      flow.start([scripted(succeed())]);
      flow.qstash.refusePublishes(fault);
      await flow.create(TYPE, 1);
      await flow.sweep();

      const cause = typeof fault === "string" ? "unreachable" : `status_${fault.status}`;
      expect(flow.logs).toContainEqual(expect.objectContaining({ event: "publish_failed", cause }));
      for (const spy of spies) expect(spy).not.toHaveBeenCalled();
      vi.restoreAllMocks();
    },
  );

  test("costs QStash nothing when nothing is to be published: a duplicate request (F01)", async () => {
    flow.start([scripted(succeed())]);
    const before = counts().publishRequests;
    const key = { idempotencyKey: "the-same", body: { type: TYPE, payload: 1 } };
    await flow.request("POST", "/api/jobs", key);
    const replayed = await flow.request("POST", "/api/jobs", key);
    expect(replayed.headers.get("idempotent-replayed")).toBe("true");
    expect(counts().publishRequests - before).toBe(1);
  });
});

describe("a publish whose answer is lost", () => {
  test("is repeated under the same deduplication id: one message, one run (F02)", async () => {
    const { ran, job } = counted();
    flow.start([job]);
    const { publishRequests, deduplicated } = counts();
    flow.qstash.refusePublishes("cut", { times: 1 });
    const jobId = await flow.create(TYPE, 1);
    expect(counts().publishRequests - publishRequests).toBe(2);
    expect(counts().deduplicated - deduplicated).toBe(1);
    expect(flow.qstash.pending()).toMatchObject([{ deduplicationId: `${jobId}_0_1` }]);
    await flow.runUntilIdle();
    expect(ran).toEqual([1]);
  });

  test.each([
    { minutes: 1, messages: 1 },
    { minutes: 15, messages: 2 },
  ])(
    "at both tries, and swept $minutes minutes later: $messages message(s), one run (F02)",
    async ({ minutes, messages }) => {
      const { ran, job } = counted();
      flow.start([job]);
      flow.qstash.refusePublishes("cut", { times: 2 });
      const jobId = await flow.create(TYPE, 1);
      expect(await flow.row(jobId)).toMatchObject({ triggered_at: null });
      await flow.advance(minutes * 60);
      expect(await flow.sweep()).toMatchObject({ published: 1 });
      // QStash remembers a deduplication id for ten minutes; a silent type's probe is another message.
      const repeats = flow.qstash.pending().filter(({ body }) => body.includes('"seq":1'));
      expect(repeats).toHaveLength(messages);
      await flow.runUntilIdle();
      expect(ran).toEqual([1]);
      expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
    },
  );

  test("after an attempt, too (F02)", async () => {
    flow.start([scripted(byAttempt(throws("no"), succeed()))]);
    const jobId = await flow.create(TYPE, {});
    flow.qstash.refusePublishes("cut", { times: 2 });
    await flow.qstash.deliverDue();
    await flow.sweep();
    expect(flow.qstash.pending()).toMatchObject([{ deduplicationId: `${jobId}_1_2` }]);
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 2 });
  });
});

describe("a delivery that is faster than the commit of its job", () => {
  test("is asked to come back, and then the job runs once (F08)", async () => {
    const { ran, job } = counted();
    flow.start([job]);
    const other = await flow.create(TYPE, "other");
    for (const { messageId } of flow.qstash.pending()) flow.qstash.drop(messageId);
    const insert = await openTransaction(flow.database.pg);
    try {
      const late = newJob({ type: TYPE, payload: "late" });
      await createJobs(insert.store, [late]);
      const message = { jobId: late.id, messageId: "msg_fast" };
      const early = await send(flow, { ...message, retried: 0 });
      expect(early).toMatchObject({ status: 503, body: { code: "job_unknown" } });
      expect(early.headers.get("retry-after")).toBe("10");
      // Not even another due job of its type ran: the message would have been used up.
      expect(ran).toEqual([]);
      await insert.commit();
      expect(await send(flow, { ...message, retried: 1 })).toMatchObject({
        status: 200,
        body: { outcome: "completed", ranJobId: late.id },
      });
      expect(ran).toEqual(["late"]);
      expect(await flow.job(other)).toMatchObject({ status: "queued" });
    } finally {
      await insert.rollback();
    }
  });

  test("and whose insert is rolled back is a no-op in the end (F08)", async () => {
    const { ran, job } = counted();
    flow.start([job]);
    const insert = await openTransaction(flow.database.pg);
    const never = newJob({ type: TYPE });
    await createJobs(insert.store, [never]);
    expect(await send(flow, { jobId: never.id, retried: 0 })).toMatchObject({ status: 503 });
    await insert.rollback();
    expect(await send(flow, { jobId: never.id, retried: 1 })).toMatchObject({
      status: 200,
      body: { outcome: "noop", reason: "nothing_due" },
    });
    expect(ran).toEqual([]);
  });
});
