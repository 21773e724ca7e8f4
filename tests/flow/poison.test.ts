import { describe, expect, test } from "vitest";
import { byAttempt, type Handler, scripted, succeed, TYPE, throws } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";

const flow = setUpFlow();

/** Ends its process: nothing of it comes back, not even an answer to QStash. */
const exits: Handler = () => {
  flow.instance.ports.kill();
  return new Promise<never>(() => {});
};

/** Delivers until QStash has given up, with a fresh process after each death. */
async function deliverToTheEnd(job: Parameters<typeof flow.start>[0]): Promise<number> {
  let deliveries = 0;
  for (; flow.qstash.pending().length > 0; deliveries += 1) {
    if (flow.instance.ports.isDead) flow.start(job);
    const dueAt = Math.min(...flow.qstash.pending().map((each) => each.dueAt));
    await flow.advance(Math.max(0, (dueAt - flow.qstash.now()) / 1000));
    await flow.qstash.deliverNext();
  }
  if (flow.instance.ports.isDead) flow.start(job);
  return deliveries;
}

const LOST = { outcome: "lease_expired", error_code: "lease_expired" };

describe("a job that kills its process", () => {
  test("every time ends after max_attempts as a dead letter that says so, charged at each claim (J01)", async () => {
    const attempts: number[] = [];
    const job = scripted((context) => {
      attempts.push(context.attempt);
      return exits(context);
    });
    flow.start([job]);
    const jobId = await flow.create(TYPE, {}, { maxAttempts: 3 });
    for (let sweeps = 0; sweeps < 5; sweeps += 1) {
      await deliverToTheEnd([job]);
      await flow.advance(91);
      await flow.sweep();
    }
    expect(attempts).toEqual([1, 2, 3]);
    expect(flow.qstash.pending()).toEqual([]);
    expect(await flow.job(jobId)).toMatchObject({
      status: "dead_letter",
      attempts: 3,
      attemptsLeft: 0,
      lastError: { code: "lease_expired", retryable: false },
    });
    expect(await flow.attempts(jobId)).toMatchObject([LOST, LOST, LOST]);
  });

  test("with nobody but the sweep to find it, ends the same, a backoff between the tries (J01)", async () => {
    const startedAt: number[] = [];
    const job = scripted((context) => {
      startedAt.push(flow.qstash.now() / 1000);
      return exits(context);
    });
    flow.start([job]);
    const jobId = await flow.create(TYPE, {}, { maxAttempts: 3 });
    for (let sweeps = 0; sweeps < 6; sweeps += 1) {
      await flow.qstash.deliverDue();
      // QStash's own retries are lost, too.
      for (const { messageId, retried } of flow.qstash.pending()) {
        if (retried > 0) flow.qstash.drop(messageId);
      }
      flow.start([job]);
      await flow.advance(91);
      await flow.sweep();
      await flow.advance(70);
    }
    expect(startedAt).toHaveLength(3);
    expect(await flow.job(jobId)).toMatchObject({ status: "dead_letter", attempts: 3 });
    expect(await flow.attempts(jobId)).toMatchObject([LOST, LOST, LOST]);
  });

  test("once, it completes at its second attempt: at once by its own message's redelivery (J03)", async () => {
    const job = scripted(byAttempt(exits, succeed()));
    flow.start([job]);
    const jobId = await flow.create(TYPE, {}, { maxAttempts: 5 });
    await deliverToTheEnd([job]);
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 2 });
    expect(await flow.attempts(jobId)).toMatchObject([LOST, { outcome: "completed" }]);
    // No message but the first was needed: it was delivered, refused while the lease lived, delivered.
    expect(await flow.row(jobId)).toMatchObject({ trigger_seq: 1 });
  });

  test("once, it completes at its second attempt: after its backoff when a sweep finds it (J03)", async () => {
    const job = scripted(byAttempt(exits, succeed()));
    flow.start([job]);
    const jobId = await flow.create(TYPE, {}, { maxAttempts: 5 });
    await flow.qstash.deliverDue();
    for (const { messageId } of flow.qstash.pending()) flow.qstash.drop(messageId);
    flow.start([job]);
    await flow.advance(91);
    expect(await flow.sweep()).toMatchObject({ leasesRecovered: 1 });
    expect(await flow.job(jobId)).toMatchObject({
      status: "failed",
      attempts: 1,
      attemptsLeft: 4,
      lastError: { code: "lease_expired", retryable: true },
    });
    expect(
      await flow.query(
        "select extract(epoch from next_run_at - updated_at)::float8 as s from jobs",
      ),
    ).toEqual([{ s: 30 }]);
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 2 });
  });

  test.each([1, 3])(
    "on the last of %i attempts is dead-lettered by the sweep, its error recorded (J04)",
    async (maxAttempts) => {
      const fails = Array.from({ length: maxAttempts - 1 }, () => throws("no"));
      const job = scripted(byAttempt(...fails, exits), { backoff: { baseSeconds: 1 } });
      flow.start([job]);
      const jobId = await flow.create(TYPE, {}, { maxAttempts });
      while (!flow.instance.ports.isDead) {
        await flow.qstash.deliverDue();
        await flow.advance(10);
      }
      for (const { messageId } of flow.qstash.pending()) flow.qstash.drop(messageId);
      flow.start([job]);
      await flow.advance(91);
      expect(await flow.sweep()).toMatchObject({ leasesRecovered: 1, deadLettered: 1 });
      expect(await flow.job(jobId)).toMatchObject({
        status: "dead_letter",
        attempts: maxAttempts,
        lastError: { code: "lease_expired", retryable: false },
        lockedUntil: null,
      });
      expect((await flow.attempts(jobId)).at(-1)).toMatchObject({ ...LOST, number: maxAttempts });
    },
  );

  test("on its last attempt is dead-lettered by its own redelivery, which runs nothing (J04)", async () => {
    let runs = 0;
    const job = scripted((context) => {
      runs += 1;
      return exits(context);
    });
    flow.start([job]);
    const jobId = await flow.create(TYPE, {}, { maxAttempts: 1 });
    await flow.qstash.deliverDue();
    flow.start([job]);
    await flow.advance(91);
    expect(JSON.parse((await flow.deliverOne()).body)).toEqual({
      outcome: "dead_lettered",
      jobId,
      ranJobId: jobId,
    });
    expect(runs).toBe(1);
    expect(await flow.job(jobId)).toMatchObject({ status: "dead_letter", attempts: 1 });
  });

  test("after a cancel request ends as cancelled, whoever finds it (J04)", async () => {
    for (const finder of ["message", "sweep"]) {
      const job = scripted(exits);
      flow.start([job]);
      const jobId = await flow.create(TYPE, { finder }, { maxAttempts: 1 });
      await flow.qstash.deliverDue();
      flow.start([job]);
      expect((await flow.request("POST", `/api/jobs/${jobId}/cancel`)).status).toBe(202);
      await flow.advance(91);
      if (finder === "message") {
        expect(JSON.parse((await flow.deliverOne()).body)).toMatchObject({ outcome: "cancelled" });
      } else expect(await flow.sweep()).toMatchObject({ cancelled: 1 });
      expect(await flow.job(jobId)).toMatchObject({
        status: "cancelled",
        cancelRequested: true,
        attempts: 1,
      });
      for (const { messageId } of flow.qstash.pending()) flow.qstash.drop(messageId);
    }
  });

  test("does not take others of its type with it: they run meanwhile (J01)", async () => {
    const job = scripted((context) => (context.payload === "poison" ? exits(context) : "fine"));
    flow.start([job]);
    await flow.create(TYPE, "poison", { maxAttempts: 2 });
    for (let n = 0; n < 5; n += 1) await flow.create(TYPE, n);
    for (let sweeps = 0; sweeps < 4; sweeps += 1) {
      await deliverToTheEnd([job]);
      await flow.advance(91);
      await flow.sweep();
    }
    expect(
      await flow.query("select status, count(*)::int from jobs group by status order by status"),
    ).toEqual([
      { status: "completed", count: 5 },
      { status: "dead_letter", count: 1 },
    ]);
  });
});
