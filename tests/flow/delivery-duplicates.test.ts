import { describe, expect, test } from "vitest";
import { answered, handMade, send, sendAgain } from "../support/flow-delivery.js";
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
import { KEYS } from "../support/world.js";

const flow = setUpFlow();

/** Counts runs by job, outside of the database. */
function counting(types = [TYPE]) {
  const runs = new Map<string, number>();
  const count: Handler = ({ operationId }) => {
    runs.set(operationId, (runs.get(operationId) ?? 0) + 1);
  };
  return { runs, jobs: types.map((type) => scripted(count, {}, type)) };
}

describe("identical deliveries at the same instant", () => {
  test("each of 100 rounds runs its job once (H01)", async () => {
    // Ten types side by side: a duplicate may run another job of its own type, so one at a time.
    const types = Array.from({ length: 10 }, (_, n) => `test.type${n}`);
    const { runs, jobs } = counting(types);
    flow.start(jobs);
    for (let round = 1; round <= 10; round += 1) {
      const body = { jobs: types.map((type) => ({ type, payload: round })) };
      await flow.request("POST", "/api/jobs/batch", { body });
      const pairs = await Promise.all(
        flow.qstash.pending().map(({ messageId }) => flow.qstash.deliverTwice(messageId)),
      );
      for (const pair of pairs) expect(pair.map(({ status }) => status)).toContain(200);
      expect(runs.size).toBe(10 * round);
    }
    expect([...runs.values()].filter((count) => count !== 1)).toEqual([]);
    expect(await flow.query("select count(*)::int from job_attempts")).toEqual([{ count: 100 }]);
  });

  test("the duplicates of 40 messages sent all at once run each job once (H01)", async () => {
    const { runs, jobs } = counting();
    flow.start(jobs);
    const body = { jobs: Array.from({ length: 40 }, (_, n) => ({ type: TYPE, payload: n })) };
    await flow.request("POST", "/api/jobs/batch", { body });
    await Promise.all(
      flow.qstash.pending().map((each) => flow.qstash.deliverTwice(each.messageId)),
    );
    await flow.runUntilIdle();

    expect(runs.size).toBe(40);
    expect([...runs.values()].filter((count) => count !== 1)).toEqual([]);
    const ended = await flow.query("select distinct status, attempts from jobs");
    expect(ended).toEqual([{ status: "completed", attempts: 1 }]);
  });

  test("two instances that get the same delivery run it once, and the other hears 409 (H01)", async () => {
    const work = held();
    let runs = 0;
    const job = scripted((context) => {
      runs += 1;
      return work.run(context);
    });
    const first = flow.start([job]);
    await flow.create(TYPE, {});
    const delivery = flow.qstash.deliverDue();
    await work.started;
    flow.start([job]);
    const again = await sendAgain(flow, first.captured[0]);

    expect(again).toMatchObject({ status: 409, body: { code: "job_running" } });
    work.release();
    expect(await delivery).toMatchObject([{ status: 200 }]);
    expect(runs).toBe(1);
  });
});

describe("a captured delivery that is sent again", () => {
  test("ten times before, during and after the run is one execution (G09)", async () => {
    const work = held();
    const instance = flow.start([scripted(work.run)]);
    const jobId = await flow.create(TYPE, {});
    const delivery = flow.qstash.deliverDue();
    await work.started;
    for (let n = 0; n < 5; n += 1) {
      const { status, body, headers } = await sendAgain(flow, instance.captured[0]);
      expect({ status, code: body.code }).toEqual({ status: 409, code: "job_running" });
      const retryAfter = Number(headers.get("retry-after"));
      // The rest of the lease, which is 90 s here, and 1 to 3 s; some real time has passed.
      expect(retryAfter).toBeGreaterThan(60);
      expect(retryAfter).toBeLessThanOrEqual(94);
    }
    work.release();
    await delivery;
    for (let n = 0; n < 5; n += 1) {
      expect(await sendAgain(flow, instance.captured[0])).toMatchObject({
        status: 200,
        body: { outcome: "noop", reason: "recorded" },
      });
    }
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
    expect(await flow.attempts(jobId)).toHaveLength(1);
  });

  test("under other unsigned headers it still runs nothing twice (G09)", async () => {
    const work = held();
    const instance = flow.start([scripted(work.run)]);
    const jobId = await flow.create(TYPE, {});
    const delivery = flow.qstash.deliverDue();
    await work.started;
    const disguises: Record<string, string>[] = [
      { "upstash-message-id": "msg_other" },
      { "upstash-retried": "3" },
      { "upstash-message-id": "", "upstash-retried": "abc" },
      { "upstash-message-id": "x".repeat(5000), "upstash-retried": "-1" },
    ];
    for (const headers of disguises) {
      const { status } = await sendAgain(flow, instance.captured[0], headers);
      expect([200, 409]).toContain(status);
    }
    work.release();
    await delivery;
    for (const headers of disguises) {
      expect(await sendAgain(flow, instance.captured[0], headers)).toMatchObject({
        status: 200,
        body: { outcome: "noop" },
      });
    }
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("it cannot run a job that waits for its backoff (G09)", async () => {
    const instance = flow.start([scripted(throws("no"))]);
    const jobId = await flow.create(TYPE, {}, { maxAttempts: 2 });
    await flow.qstash.deliverDue();
    await sendAgain(flow, instance.captured[0]);
    await sendAgain(flow, instance.captured[0], { "upstash-message-id": "msg_other" });
    expect(await flow.job(jobId)).toMatchObject({ status: "failed", attempts: 1 });
    expect(flow.qstash.pending()).toHaveLength(1);
  });
});

describe("a delivery for a job that has ended", () => {
  const endings = [
    { state: "completed", run: succeed() },
    { state: "dead_letter", run: throws("no") },
    { state: "cancelled", run: succeed() },
  ];

  test.each(endings)(
    "$state: a no-op that is counted and changes nothing (H03)",
    async (ending) => {
      flow.start([scripted(ending.run, { maxAttempts: 1 })]);
      const jobId = await flow.create(TYPE, {});
      if (ending.state === "cancelled") await flow.request("POST", `/api/jobs/${jobId}/cancel`);
      else await flow.qstash.deliverDue();
      const before = await flow.row(jobId);
      expect(before.status).toBe(ending.state);
      for (const retried of [0, 1, 3]) {
        expect(await send(flow, { jobId, retried })).toMatchObject({
          status: 200,
          body: { outcome: "noop", reason: "finished" },
        });
      }
      expect(await flow.row(jobId)).toEqual(before);
      const counted = await flow.query(
        "select sum(count)::int from job_stats where measure = 'delivery' and label = 'finished'",
      );
      expect(counted).toEqual([{ sum: 3 }]);
      const refused = (await flow.events(jobId)).filter(({ kind }) => kind === "delivery_refused");
      expect(refused).toHaveLength(3);
      expect(refused[0]?.data).toMatchObject({ reason: "finished", ranJobId: null });
    },
  );
});

describe("a redelivery because the first answer was lost", () => {
  test("after completion it is a no-op: one attempt, one effect (H12)", async () => {
    const effects: string[] = [];
    const send = ({ operationId }: { operationId: string }) => void effects.push(operationId);
    const instance = flow.start([scripted(({ once }) => once("send", send))]);
    const jobId = await flow.create(TYPE, {});
    flow.qstash.loseAnswer("next");
    expect(await flow.deliverOne()).toMatchObject({ answerLost: true, outcome: "retry" });
    await flow.runUntilIdle();

    expect(instance.captured.map(({ headers }) => headers.get("upstash-retried"))).toEqual([
      "0",
      "1",
    ]);
    expect(effects).toEqual([`${jobId}:send`]);
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("after a failure it does not bring the next try forward (H12)", async () => {
    const instance = flow.start([scripted(byAttempt(throws("no"), succeed()))]);
    const jobId = await flow.create(TYPE, {});
    flow.qstash.loseAnswer("next");
    await flow.qstash.deliverDue();
    // The redelivery comes after 12 s, the next message after 30 s.
    await flow.advance(13);
    expect(await flow.deliverOne()).toMatchObject({ status: 200 });
    expect(await flow.job(jobId)).toMatchObject({ status: "failed", attempts: 1 });
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 2 });
    expect(instance.captured).toHaveLength(3);
  });
});

describe("a job that is gone", () => {
  test("one retryable answer, then a no-op; nothing is recreated (H04)", async () => {
    flow.start([scripted(succeed())]);
    const jobId = await flow.create(TYPE, {});
    await flow.query("delete from jobs");
    const first = await flow.deliverOne();
    expect(first).toMatchObject({ status: 503, outcome: "retry" });
    expect(first.headers).toMatchObject({ "retry-after": "10" });
    await flow.runUntilIdle();
    expect(flow.qstash.pending()).toEqual([]);
    expect(await flow.query("select id from jobs")).toEqual([]);
    expect(await flow.attempts(jobId)).toEqual([]);
    const missing = await flow.request("GET", `/api/jobs/${jobId}`, { secret: KEYS.admin });
    expect(missing.status).toBe(404);
  });

  test("deleted while its handler runs: its finish, heartbeat and effects leave nothing behind (H04)", async () => {
    const work = held();
    const tried: unknown[] = [];
    flow.start([
      scripted(async (context) => {
        const result = await work.run(context);
        tried.push(await Promise.resolve(context.progress(1)).catch(({ name }) => name));
        tried.push(await context.once("late", () => 1).catch(({ name }) => name));
        return result;
      }),
    ]);
    const jobId = await flow.create(TYPE, {});
    const delivery = flow.qstash.deliverDue();
    const { signal } = await work.started;
    await flow.query("delete from jobs");
    await flow.elapse(21, 7);
    expect(signal.aborted).toBe(true);
    work.release();

    const [result] = await delivery;
    expect(result?.status).toBe(200);
    expect(JSON.parse(result?.body ?? "")).toEqual({ outcome: "noop", reason: "lease_lost" });
    expect(tried).toEqual(["LeaseLostError", "LeaseLostError"]);
    for (const table of ["jobs", "job_attempts", "job_effects"]) {
      expect(await flow.query(`select * from ${table}`)).toEqual([]);
    }
    expect(await send(flow, { jobId, retried: 1 })).toMatchObject({ status: 200 });
  });

  test("of a type that nobody knows it is given up for good (H04)", async () => {
    flow.start([scripted(succeed())]);
    const jobId = "00000000-0000-4000-8000-000000000001";
    const first = await answered(
      flow.instance.fetch(handMade(flow, { jobId, type: "gone.v1", retried: 0 })),
    );
    expect(first).toMatchObject({ status: 503, body: { code: "job_unknown" } });
    const later = await send(flow, { jobId, type: "gone.v1", retried: 1 });
    expect(later).toMatchObject({ status: 489, body: { code: "job_unknown" } });
    expect(later.headers.get("upstash-nonretryable-error")).toBe("true");
  });
});
