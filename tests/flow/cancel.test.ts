import { describe, expect, test } from "vitest";
import { sendAgain } from "../support/flow-delivery.js";
import { aborted, byAttempt, held, scripted, succeed, TYPE, throws } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";
import { KEYS } from "../support/world.js";

const flow = setUpFlow();

interface CancelAnswer {
  status: number;
  body: Record<string, unknown>;
}

async function cancel(jobId: string, body?: unknown, secret?: string): Promise<CancelAnswer> {
  const response = await flow.request("POST", `/api/jobs/${jobId}/cancel`, { body, secret });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** A handler in its work, its delivery under way. */
async function running(end = held()) {
  flow.start([scripted(byAttempt(end.run, succeed("again")))]);
  const jobId = await flow.create(TYPE, {});
  const delivery = flow.qstash.deliverDue();
  const context = await end.started;
  return { jobId, delivery, context, end };
}

describe("a job that waits", () => {
  test("is cancelled at once, and its message that is in flight runs nothing (L01)", async () => {
    const runs: string[] = [];
    flow.start([scripted(({ operationId }) => void runs.push(operationId))]);
    const jobId = await flow.create(TYPE, {});
    expect(await cancel(jobId, { reason: "not needed" })).toMatchObject({
      status: 200,
      body: { status: "cancelled", cancelRequested: true, attempts: 0, nextRunAt: null },
    });
    expect(JSON.parse((await flow.deliverOne()).body)).toEqual({
      outcome: "noop",
      reason: "finished",
    });
    expect(runs).toEqual([]);
    expect(await flow.job(jobId)).toMatchObject({ status: "cancelled", attempts: 0 });
    expect(await flow.events(jobId)).toMatchObject([
      { kind: "cancelled", data: { by: "acme", reason: "not needed" } },
      { kind: "delivery_refused", data: { reason: "finished" } },
    ]);
  });

  test("for its next try or for a later time is cancelled at once (L01)", async () => {
    flow.start([scripted(throws("no"))]);
    const failed = await flow.create(TYPE, 1);
    await flow.qstash.deliverDue();
    const scheduled = await flow.create(TYPE, 2, { delaySeconds: 3600 });
    for (const jobId of [failed, scheduled]) {
      expect(await cancel(jobId)).toMatchObject({ status: 200, body: { status: "cancelled" } });
    }
    await flow.runUntilIdle();
    expect(await flow.job(failed)).toMatchObject({
      status: "cancelled",
      attempts: 1,
      lastError: { code: "handler_error" },
    });
    expect(await flow.job(scheduled)).toMatchObject({ status: "cancelled", attempts: 0 });
    expect(await flow.sweep()).toMatchObject({ published: 0, vanished: 0, probes: 0 });
  });

  test("and is cancelled frees its dedupe key (L01)", async () => {
    flow.start([scripted(succeed())]);
    const first = await flow.create(TYPE, {}, { dedupeKey: "k", delaySeconds: 60 });
    expect(await flow.create(TYPE, {}, { dedupeKey: "k" })).toBe(first);
    await cancel(first);
    expect(await flow.create(TYPE, {}, { dedupeKey: "k" })).not.toBe(first);
  });

  test("of another tenant is a 404 and stays as it is (L01)", async () => {
    flow.start([scripted(succeed())]);
    const jobId = await flow.create(TYPE, {});
    expect(await cancel(jobId, undefined, KEYS.globex)).toMatchObject({ status: 404 });
    expect(await flow.job(jobId)).toMatchObject({ status: "queued", cancelRequested: false });
    expect(await cancel(jobId, undefined, KEYS.admin)).toMatchObject({ status: 200 });
  });
});

describe("a job that runs is asked to stop, and its reported end never flips (L02)", () => {
  test("its handler sees the request at the next heartbeat and ends it as cancelled", async () => {
    const { jobId, delivery, context, end } = await running();
    expect(await cancel(jobId, { reason: "stop" })).toMatchObject({
      status: 202,
      body: { status: "processing", cancelRequested: true, finishedAt: null },
    });
    expect(context.signal.aborted).toBe(false);
    await flow.elapse(20, 5);
    expect(await aborted(context.signal)).toMatchObject({
      name: "AttemptAbortedError",
      reason: "cancelled",
    });
    end.fail(context.signal.reason);
    expect(JSON.parse((await delivery)[0]?.body ?? "")).toMatchObject({ outcome: "cancelled" });
    expect(await flow.job(jobId)).toMatchObject({ status: "cancelled", attempts: 1, result: null });
    expect(await flow.attempts(jobId)).toMatchObject([{ outcome: "cancelled", number: 1 }]);
    expect(await flow.events(jobId)).toMatchObject([
      { kind: "cancel_requested", data: { by: "acme", reason: "stop" } },
    ]);
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({ status: "cancelled", attempts: 1 });
  });

  test("at its next progress or effect, too, and the effect does not run", async () => {
    const { jobId, delivery, context, end } = await running();
    await cancel(jobId);
    await context.progress({ at: 1 });
    expect(context.signal.reason).toMatchObject({ reason: "cancelled" });
    let charged = false;
    const charge = context.once("charge", () => {
      charged = true;
    });
    await expect(charge).rejects.toMatchObject({ reason: "cancelled" });
    expect(charged).toBe(false);
    expect(await flow.effects(jobId)).toEqual([]);
    end.fail(new Error("stopped"));
    await delivery;
    expect(await flow.job(jobId)).toMatchObject({ status: "cancelled", progress: { at: 1 } });
  });

  test.each([
    { end: "completes", act: (end: Held) => end.release("done"), status: "completed" },
    { end: "fails", act: (end: Held) => end.fail(new Error("no")), status: "cancelled" },
    { end: "fails for good", act: (end: Held) => end.fail({ status: 404 }), status: "cancelled" },
    {
      end: "asks for a later try",
      act: (end: Held) => end.fail(Object.assign(new Error(), { name: "RetryAfterError" })),
      status: "cancelled",
    },
  ])("one that $end before it saw the request ends as $status", async ({ act, status }) => {
    const { jobId, delivery, end } = await running();
    expect((await cancel(jobId)).status).toBe(202);
    act(end);
    await delivery;
    const job = await flow.job(jobId);
    expect(job).toMatchObject({ status, cancelRequested: true, nextRunAt: null });
    await flow.runUntilIdle();
    await flow.advance(3600);
    await flow.sweep();
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toEqual(job);
    expect(await cancel(jobId)).toMatchObject({
      status: 409,
      body: { code: "job_not_cancellable" },
    });
    expect(await flow.job(jobId)).toEqual(job);
  });
  type Held = ReturnType<typeof held>;

  test("asking twice is the same request, and the first reason and time stand", async () => {
    const { jobId, delivery, end } = await running();
    await cancel(jobId, { reason: "first" });
    const { cancel_requested_at } = await flow.row(jobId);
    await flow.advance(1);
    expect(await cancel(jobId, { reason: "second" })).toMatchObject({ status: 202 });
    expect(await flow.row(jobId)).toMatchObject({ cancel_requested_at, status: "processing" });
    end.fail("no");
    await delivery;
    expect(await flow.job(jobId)).toMatchObject({ status: "cancelled" });
  });

  test("while it is asked to stop, a new job with its dedupe key is refused, then accepted", async () => {
    const end = held();
    flow.start([scripted(end.run)]);
    const jobId = await flow.create(TYPE, {}, { dedupeKey: "k" });
    const delivery = flow.qstash.deliverDue();
    await end.started;
    await cancel(jobId);
    const body = { type: TYPE, payload: {}, dedupeKey: "k" };
    const refused = await flow.request("POST", "/api/jobs", { body });
    expect(refused.status).toBe(409);
    expect(refused.headers.get("retry-after")).toBe("5");
    expect(await refused.json()).toMatchObject({ code: "dedupe_job_cancelling" });
    end.fail("no");
    await delivery;
    expect(await flow.create(TYPE, {}, { dedupeKey: "k" })).not.toBe(jobId);
  });

  test("one whose lease ran out is cancelled by whoever finds it, and its late result is not applied", async () => {
    const end = held();
    const job = scripted(end.run, { leaseSeconds: 60, timeoutSeconds: 600 });
    const first = flow.start([job]);
    first.ports.rule = ({ method }) => (method === "heartbeat" ? "fail" : undefined);
    const jobId = await flow.create(TYPE, {});
    const delivery = flow.qstash.deliverDue();
    await end.started;
    await flow.advance(61);
    expect(await cancel(jobId)).toMatchObject({ status: 202 });
    expect((await sendAgain(flow, first.captured[0])).body).toMatchObject({ outcome: "cancelled" });
    const row = await flow.row(jobId);
    expect(row).toMatchObject({ status: "cancelled", attempts: 1 });
    end.release("late");
    await delivery;
    expect(await flow.row(jobId)).toEqual(row);
    expect(await flow.attempts(jobId)).toMatchObject([
      { outcome: "lease_expired", late_outcome: "completed", late_detail: "late" },
    ]);
  });
});

describe("a job that has ended", () => {
  test.each([
    { state: "completed", run: succeed() },
    { state: "dead_letter", run: throws("no") },
    { state: "cancelled", run: succeed() },
  ])("$state: cancelling it is refused and changes nothing (L04)", async ({ state, run }) => {
    flow.start([scripted(run, { maxAttempts: 1 })]);
    const jobId = await flow.create(TYPE, {});
    if (state === "cancelled") await cancel(jobId);
    else await flow.qstash.deliverDue();
    const before = await flow.row(jobId);
    const events = await flow.events(jobId);
    await flow.advance(5);
    for (let n = 0; n < 2; n += 1) {
      expect(await cancel(jobId, { reason: "again" })).toMatchObject({
        status: 409,
        body: { code: "job_not_cancellable", status: 409 },
      });
    }
    expect(await flow.row(jobId)).toEqual(before);
    expect(before.status).toBe(state);
    expect(await flow.events(jobId)).toEqual(events);
  });

  test("a cancel whose answer was lost is answered as the first, also when repeated (L04)", async () => {
    flow.start([scripted(succeed())]);
    const jobId = await flow.create(TYPE, {});
    flow.database.neon.setFault({ action: "lose-answer", nth: 1 });
    expect(await cancel(jobId)).toMatchObject({ status: 200, body: { status: "cancelled" } });
    expect(await flow.events(jobId)).toHaveLength(1);
  });
});
