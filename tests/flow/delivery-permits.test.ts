import { describe, expect, test } from "vitest";
import { send } from "../support/flow-delivery.js";
import { byAttempt, held, scripted, succeed, TYPE, throws } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";

const flow = setUpFlow();

/** A type that writes down the payloads in the order in which they ran. */
function recorded(type = TYPE) {
  const ran: unknown[] = [];
  const job = scripted(({ payload }) => void ran.push(payload), {}, type);
  return { ran, job };
}

/** Delivers the message that names this job and gives the answer. */
async function deliverFor(jobId: string): Promise<Record<string, unknown>> {
  const message = flow.qstash.pending().find(({ body }) => body.includes(jobId));
  const { body } = await flow.qstash.deliver(message?.messageId ?? "");
  return JSON.parse(body) as Record<string, unknown>;
}

describe("a delivery is a permit to run one job of its type", () => {
  test("a job of higher priority runs first, and who was displaced runs by the displacer's message", async () => {
    const { ran, job } = recorded();
    flow.start([job]);
    const newsletter = await flow.create(TYPE, "newsletter", { priority: 1 });
    const reset = await flow.create(TYPE, "reset", { priority: 9 });

    expect(await deliverFor(newsletter)).toEqual({
      outcome: "completed",
      jobId: newsletter,
      ranJobId: reset,
    });
    expect(await deliverFor(reset)).toEqual({
      outcome: "completed",
      jobId: reset,
      ranJobId: newsletter,
    });
    expect(ran).toEqual(["reset", "newsletter"]);
    expect(flow.qstash.pending()).toEqual([]);
    const displaced = (await flow.events(newsletter)).map(({ kind, data }) => ({ kind, data }));
    expect(displaced).toMatchObject([
      { kind: "delivery_refused", data: { reason: "displaced", ranJobId: reset } },
    ]);
  });

  test("any order of messages runs every priority from the highest to the lowest, longest due first", async () => {
    const { ran, job } = recorded();
    flow.start([job]);
    const priorities = [0, 3, 9, 3, 5, 0, 7];
    for (const [n, priority] of priorities.entries()) {
      await flow.create(TYPE, `${priority}.${n}`, { priority });
    }
    const messages = flow.qstash.pending().map(({ messageId }) => messageId);
    for (const n of [5, 2, 0, 6, 1, 4, 3]) await flow.qstash.deliver(messages[n] ?? "");

    expect([ran[0], ran[1], ran[2]]).toEqual(["9.2", "7.6", "5.4"]);
    expect(ran.slice(3).map((payload) => String(payload)[0])).toEqual(["3", "3", "0", "0"]);
    expect(new Set(ran).size).toBe(7);
    expect(flow.qstash.pending()).toEqual([]);
  });

  test("a job of another type, of a later time or of a paused type is nothing that it may run", async () => {
    const { ran, job } = recorded();
    const other = recorded("test.other");
    flow.start([job, other.job]);
    await flow.create("test.other", "other type", { priority: 9 });
    await flow.create(TYPE, "tomorrow", { priority: 9, delaySeconds: 86_400 });
    const jobId = await flow.create(TYPE, "mine");
    expect(await deliverFor(jobId)).toMatchObject({ ranJobId: jobId });
    expect(ran).toEqual(["mine"]);
    expect(other.ran).toEqual([]);
  });

  test("a second delivery for a finished job runs the longest due one of its type", async () => {
    const { ran, job } = recorded();
    flow.start([job]);
    const first = await flow.create(TYPE, 1);
    const second = await flow.create(TYPE, 2);
    const third = await flow.create(TYPE, 3);
    await deliverFor(first);
    expect(await send(flow, { jobId: first })).toMatchObject({ body: { ranJobId: second } });
    expect(await deliverFor(second)).toMatchObject({ ranJobId: third });
    expect(await deliverFor(third)).toEqual({ outcome: "noop", reason: "finished" });
    expect(ran).toEqual([1, 2, 3]);
  });

  test("a permit whose attempt dies is recovered by its own message, which runs the job that it ran", async () => {
    const ran: unknown[] = [];
    const dying = scripted(({ payload }) => {
      ran.push(payload);
      flow.instance.ports.kill();
    });
    flow.start([dying]);
    const low = await flow.create(TYPE, "low");
    const high = await flow.create(TYPE, "high", { priority: 9 });
    const message = flow.qstash.pending().find(({ body }) => body.includes(low));
    const lost = await flow.qstash.deliver(message?.messageId ?? "");
    expect(lost).toMatchObject({ status: 0, outcome: "retry" });

    flow.start([scripted(({ payload }) => void ran.push(payload))]);
    await flow.advance(100);
    expect(await deliverFor(low)).toEqual({ outcome: "completed", jobId: low, ranJobId: high });
    expect(await deliverFor(high)).toMatchObject({ ranJobId: low });
    expect(ran).toEqual(["high", "high", "low"]);
    expect(await flow.job(high)).toMatchObject({ status: "completed", attempts: 2 });
  });

  test("a redelivery whose job was recorded runs nothing else, however much is due", async () => {
    const { ran, job } = recorded();
    const instance = flow.start([job]);
    const first = await flow.create(TYPE, 1);
    await flow.create(TYPE, 2);
    flow.qstash.loseAnswer("next");
    await deliverFor(first);
    await flow.advance(13);
    const [again] = flow.qstash.pending().filter(({ body }) => body.includes(first));
    const { body } = await flow.qstash.deliver(again?.messageId ?? "");
    expect(JSON.parse(body)).toEqual({ outcome: "noop", reason: "recorded" });
    expect(ran).toEqual([1]);
    expect(instance.captured).toHaveLength(2);
  });
});

describe("a paused type", () => {
  const pause = (type: string, how: "pause" | "resume") =>
    flow.request("POST", `/api/types/${type}/${how}`, { secret: "admin-secret-0000000" });

  test("refuses its deliveries, and its job runs after the resume by the sweep's message", async () => {
    const { ran, job } = recorded();
    flow.start([job]);
    const jobId = await flow.create(TYPE, 1);
    await pause(TYPE, "pause");
    expect(JSON.parse((await flow.deliverOne()).body)).toEqual({
      outcome: "noop",
      reason: "paused",
    });
    expect(await flow.row(jobId)).toMatchObject({ status: "queued", triggered_at: null });
    expect((await flow.events(jobId))[0]).toMatchObject({
      kind: "delivery_refused",
      data: { reason: "paused" },
    });
    await flow.sweep();
    expect(flow.qstash.pending()).toEqual([]);
    await pause(TYPE, "resume");
    await flow.sweep();
    await flow.qstash.deliverDue();
    expect(ran).toEqual([1]);
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("lets a running attempt end, and leaves its next message to the sweep", async () => {
    const work = held();
    flow.start([scripted(byAttempt(work.run, succeed()))]);
    const jobId = await flow.create(TYPE, {});
    const delivery = flow.qstash.deliverDue();
    await work.started;
    await pause(TYPE, "pause");
    work.fail(new Error("no"));
    expect(JSON.parse((await delivery)[0]?.body ?? "")).toMatchObject({ outcome: "rescheduled" });
    expect(flow.qstash.pending()).toEqual([]);
    expect(await flow.row(jobId)).toMatchObject({ status: "failed", triggered_at: null });
    await pause(TYPE, "resume");
    await flow.advance(31);
    await flow.sweep();
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 2 });
  });

  test("neither hops nor runs a delivery that comes early", async () => {
    flow.start([scripted(throws("never"))]);
    const jobId = await flow.create(TYPE, {}, { delaySeconds: 60 });
    await pause(TYPE, "pause");
    expect(await send(flow, { jobId })).toMatchObject({ body: { reason: "paused" } });
    expect(flow.qstash.pending()).toHaveLength(1);
    expect(await flow.row(jobId)).toMatchObject({ trigger_seq: 2, triggered_at: null });
  });
});
