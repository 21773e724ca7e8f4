import { describe, expect, test } from "vitest";
import * as z from "zod";
import { byAttempt, held, scripted, succeed, TYPE, throws } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";
import { KEYS } from "../support/world.js";

const flow = setUpFlow();

async function replay(jobId: string, body?: unknown, secret?: string) {
  const response = await flow.request("POST", `/api/jobs/${jobId}/replay`, { body, secret });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** A dead letter; from here on its handler succeeds. */
async function deadLetter(more: Record<string, unknown> = {}, payload: never = {} as never) {
  flow.start([scripted(throws("no"), { backoff: { baseSeconds: 1, maxSeconds: 1 } })]);
  const jobId = await flow.create(TYPE, payload, { maxAttempts: 3, ...more });
  await flow.runUntilIdle();
  expect(await flow.job(jobId)).toMatchObject({ status: "dead_letter", attempts: 3 });
  flow.start([scripted(({ payload: seen }) => seen as never)]);
  return jobId;
}

describe("a dead letter that is replayed", () => {
  test("runs again and completes, its history and last error kept (M01)", async () => {
    const jobId = await deadLetter();
    expect(await replay(jobId, { reason: "fixed" })).toMatchObject({
      status: 202,
      body: {
        id: jobId,
        status: "queued",
        attempts: 3,
        attemptsLeft: 3,
        maxAttempts: 3,
        finishedAt: null,
        cancelRequested: false,
        lastError: { code: "handler_error" },
      },
    });
    await flow.qstash.deliverDue();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 4 });
    expect((await flow.attempts(jobId)).map(({ number, outcome }) => [number, outcome])).toEqual([
      [1, "failed"],
      [2, "failed"],
      [3, "dead_letter"],
      [4, "completed"],
    ]);
    const [event] = (await flow.events(jobId)).filter(({ kind }) => kind === "replayed");
    expect(event?.data).toMatchObject({
      by: "acme",
      reason: "fixed",
      was: "dead_letter",
      error: { code: "handler_error" },
      payloadChanged: false,
    });
  });

  test("and still fails gets a whole budget, the first backoff, then is dead again (M01)", async () => {
    const jobId = await deadLetter();
    flow.start([scripted(throws("still"), { backoff: { baseSeconds: 5, maxSeconds: 600 } })]);
    for (const total of [6, 9]) {
      expect((await replay(jobId)).status).toBe(202);
      await flow.qstash.deliverDue();
      const [wait] = await flow.query(
        "select extract(epoch from next_run_at - updated_at)::float8 as s from jobs",
      );
      expect(wait).toEqual({ s: 5 });
      await flow.runUntilIdle();
      expect(await flow.job(jobId)).toMatchObject({
        status: "dead_letter",
        attempts: total,
        attemptsLeft: 0,
        maxAttempts: 3,
        lastError: { message: "still" },
      });
    }
    expect(await flow.attempts(jobId)).toHaveLength(9);
  });

  test("runs with a corrected payload, which its type has checked before (M01)", async () => {
    const schema = z.object({ to: z.email() });
    const jobId = await deadLetter({}, { to: "nobody" } as never);
    flow.start([scripted(({ payload }) => payload as never, { payload: schema })]);
    const refused = await replay(jobId, { payload: { to: "still nobody" } });
    expect(refused).toMatchObject({
      status: 422,
      body: { code: "validation_failed", errors: [{ pointer: "#/payload/to" }] },
    });
    expect(await flow.job(jobId)).toMatchObject({ status: "dead_letter" });
    expect(await replay(jobId, { payload: { to: "a@example.com" } })).toMatchObject({
      status: 202,
      body: { payload: { to: "a@example.com" } },
    });
    await flow.qstash.deliverDue();
    expect(await flow.job(jobId)).toMatchObject({
      status: "completed",
      payload: { to: "a@example.com" },
      result: { to: "a@example.com" },
    });
    expect((await flow.events(jobId)).at(-1)?.data).toMatchObject({ payloadChanged: true });
  });

  test("takes null for a payload, which is not the same as none (M01)", async () => {
    const jobId = await deadLetter({}, { a: 1 } as never);
    expect(await replay(jobId, { payload: null })).toMatchObject({ body: { payload: null } });
    await flow.qstash.deliverDue();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", result: null });
  });

  test("finds its dedupe key taken by a newer job: refused, naming that one (M01)", async () => {
    const jobId = await deadLetter({ dedupeKey: "invoice:1" });
    const newer = await flow.create(TYPE, {}, { dedupeKey: "invoice:1", delaySeconds: 60 });
    expect(newer).not.toBe(jobId);
    const before = await flow.row(jobId);
    for (let n = 0; n < 2; n += 1) {
      expect(await replay(jobId)).toMatchObject({
        status: 409,
        body: { code: "dedupe_conflict", activeJobId: newer },
      });
    }
    expect(await flow.row(jobId)).toEqual(before);
    await flow.runUntilIdle();
    expect((await replay(jobId)).status).toBe(202);
    // And now holds the key itself.
    expect(await flow.create(TYPE, {}, { dedupeKey: "invoice:1" })).toBe(jobId);
  });

  test("is published at once, with a seq that no earlier message had (M01)", async () => {
    const jobId = await deadLetter();
    const { trigger_seq } = await flow.row(jobId);
    await replay(jobId);
    expect(flow.qstash.pending().map(({ body }) => JSON.parse(body))).toEqual([
      { v: 1, jobId, type: TYPE, seq: Number(trigger_seq) + 1 },
    ]);
  });

  test("while QStash refuses is accepted, and the sweep publishes it (M01)", async () => {
    const jobId = await deadLetter();
    flow.qstash.refusePublishes({ status: 500 });
    expect((await replay(jobId)).status).toBe(202);
    expect(flow.qstash.pending()).toEqual([]);
    flow.qstash.refusePublishes(null);
    expect(await flow.sweep()).toMatchObject({ published: 1 });
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 4 });
  });
});

describe("a job that cannot be replayed", () => {
  test("queued, running, failed or completed: refused, and nothing runs (M02)", async () => {
    const end = held();
    flow.start([scripted(byAttempt(throws("no"), end.run))]);
    const jobId = await flow.create(TYPE, {});
    const refusedAs = async (status: string) => {
      const before = await flow.row(jobId);
      expect(before.status).toBe(status);
      expect(await replay(jobId, { payload: { other: true } })).toMatchObject({
        status: 409,
        body: { code: "job_not_replayable" },
      });
      expect(await flow.row(jobId)).toEqual(before);
    };
    await refusedAs("queued");
    await flow.qstash.deliverDue();
    await refusedAs("failed");
    await flow.advance(32);
    const delivery = flow.qstash.deliverDue();
    await end.started;
    await refusedAs("processing");
    end.release();
    await delivery;
    await refusedAs("completed");
    expect(flow.qstash.pending()).toEqual([]);
    expect((await flow.events(jobId)).filter(({ kind }) => kind === "replayed")).toEqual([]);
  });

  test("of another tenant, or none at all: a 404 (M02)", async () => {
    const jobId = await deadLetter();
    expect((await replay(jobId, undefined, KEYS.globex)).status).toBe(404);
    expect((await replay(jobId, { payload: {} }, KEYS.globex)).status).toBe(404);
    expect((await replay("00000000-0000-4000-8000-000000000001")).status).toBe(404);
    expect((await replay(jobId, undefined, KEYS.admin)).status).toBe(202);
  });
});

describe("a cancelled job", () => {
  test("can be replayed, and its cancel request is forgotten (M02)", async () => {
    flow.start([scripted(succeed())]);
    const jobId = await flow.create(TYPE, {}, { dedupeKey: "k", maxAttempts: 1 });
    await flow.request("POST", `/api/jobs/${jobId}/cancel`);
    expect(await replay(jobId)).toMatchObject({
      status: 202,
      body: { status: "queued", cancelRequested: false, attempts: 0, attemptsLeft: 1 },
    });
    // The first message, still in flight, is as good as the new one.
    await flow.qstash.deliverDue();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("in its second life runs under the same id and can be cancelled again (M02)", async () => {
    const seen: string[] = [];
    flow.start([scripted(({ operationId }) => void seen.push(operationId))]);
    const jobId = await flow.create(TYPE, {}, { delaySeconds: 60 });
    for (let life = 0; life < 3; life += 1) {
      await flow.request("POST", `/api/jobs/${jobId}/cancel`);
      expect(await flow.job(jobId)).toMatchObject({ status: "cancelled" });
      expect((await replay(jobId)).status).toBe(202);
    }
    await flow.runUntilIdle();
    expect(seen).toEqual([jobId]);
    expect(
      (await flow.events(jobId)).filter(({ kind }) => kind !== "delivery_refused"),
    ).toHaveLength(6);
  });
});

describe("a replay that is repeated", () => {
  test("because its answer was lost is one replay (M02)", async () => {
    const jobId = await deadLetter();
    flow.database.neon.setFault({
      action: "lose-answer",
      nth: 1,
      matching: (sql) => sql.startsWith("/* replay */"),
    });
    expect(await replay(jobId)).toMatchObject({ status: 202, body: { status: "queued" } });
    expect((await flow.events(jobId)).filter(({ kind }) => kind === "replayed")).toHaveLength(1);
    expect(flow.qstash.pending()).toHaveLength(1);
  });

  test("by two operators at once replays once, and the other hears why not (M02)", async () => {
    const jobId = await deadLetter();
    const statuses = (await Promise.all([replay(jobId), replay(jobId), replay(jobId)])).map(
      ({ status }) => status,
    );
    expect(statuses.sort()).toEqual([202, 409, 409]);
    await flow.qstash.deliverDue();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 4 });
  });
});
