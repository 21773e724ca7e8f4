import { describe, expect, test } from "vitest";
import { sendAgain } from "../support/flow-delivery.js";
import { held, scripted, succeed } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";

const flow = setUpFlow();
const GONE = "gone.v1";
const other = scripted(succeed(), {}, "test.other");

/** Creates a job where its type is known, and hands over to an instance that lacks it. */
async function createForOldInstance(more: Record<string, unknown> = {}): Promise<string> {
  flow.start([scripted(succeed("at last"), {}, GONE)]);
  const jobId = await flow.create(GONE, { a: 1 }, more);
  flow.start([other]);
  return jobId;
}

describe("a job whose type this deployment does not know", () => {
  test("waits a minute without spending budget, and runs once the type is there (H07)", async () => {
    const jobId = await createForOldInstance({ maxAttempts: 1 });
    expect(JSON.parse((await flow.deliverOne()).body)).toEqual({
      outcome: "snoozed",
      jobId,
      ranJobId: jobId,
    });
    expect(await flow.job(jobId)).toMatchObject({
      status: "queued",
      attempts: 1,
      attemptsLeft: 1,
      lastError: { code: "unknown_job_type", retryable: true },
    });
    const [history] = await flow.attempts(jobId);
    expect(history).toMatchObject({ outcome: "snoozed", error_code: "unknown_job_type" });
    const wait = await flow.query(
      "select extract(epoch from next_run_at - updated_at)::float8 as seconds from jobs",
    );
    expect(wait).toEqual([{ seconds: 60 }]);

    flow.start([other, scripted(succeed("at last"), {}, GONE)]);
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({
      status: "completed",
      attempts: 2,
      result: "at last",
    });
  });

  test("ends after 60 such attempts as a dead letter that names the reason, and a replay works (H07)", async () => {
    const jobId = await createForOldInstance({ maxAttempts: 2 });
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({
      status: "dead_letter",
      attempts: 60,
      lastError: { code: "unknown_job_type", retryable: false },
    });
    const history = await flow.attempts(jobId);
    expect(history.slice(0, 59).every(({ outcome }) => outcome === "snoozed")).toBe(true);
    expect(history.at(-1)).toMatchObject({ outcome: "dead_letter", number: 60 });

    // Replayed where it is still unknown, it gets another hour, not the rest of the last one.
    expect((await flow.request("POST", `/api/jobs/${jobId}/replay`)).status).toBe(202);
    await flow.qstash.deliverDue();
    expect(await flow.job(jobId)).toMatchObject({ status: "queued", attempts: 61 });

    flow.start([scripted(succeed("at last"), {}, GONE)]);
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({
      status: "completed",
      attempts: 62,
      attemptsLeft: 1,
      result: "at last",
    });
  });

  test("is never completed by the old instance, also not as the permit of another delivery (H07)", async () => {
    const jobId = await createForOldInstance();
    for (let n = 0; n < 5; n += 1) {
      await flow.qstash.deliverDue();
      await flow.advance(61);
    }
    const outcomes = (await flow.attempts(jobId)).map(({ outcome }) => outcome);
    expect(new Set(outcomes)).toEqual(new Set(["snoozed"]));
    expect(await flow.job(jobId)).toMatchObject({ status: "queued", result: null });
  });

  test("is cancelled at once while it waits, and stays so (H07)", async () => {
    const jobId = await createForOldInstance();
    await flow.qstash.deliverDue();
    expect((await flow.request("POST", `/api/jobs/${jobId}/cancel`)).status).toBe(200);
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({ status: "cancelled", attempts: 1 });
  });

  test("cancelled while the old instance holds it, it ends as cancelled (H07)", async () => {
    const jobId = await createForOldInstance();
    const gate = held();
    flow.instance.ports.rule = async ({ method }) => {
      if (method === "finish") await gate.run({} as never);
      return undefined;
    };
    const delivery = flow.qstash.deliverDue();
    await expect.poll(() => flow.job(jobId)).toMatchObject({ status: "processing" });
    expect((await flow.request("POST", `/api/jobs/${jobId}/cancel`)).status).toBe(202);
    gate.release();
    await delivery;
    expect(await flow.job(jobId)).toMatchObject({ status: "cancelled" });
  });

  test("recovered by a sweep that does not know it either, it goes on waiting (H07)", async () => {
    const jobId = await createForOldInstance();
    flow.instance.ports.rule = ({ method }) => (method === "finish" ? "crash_before" : undefined);
    await flow.qstash.deliverDue();
    const old = flow.start([other]);
    await flow.advance(61);
    expect(await flow.sweep(old)).toMatchObject({ leasesRecovered: 1 });
    expect(await flow.job(jobId)).toMatchObject({
      status: "failed",
      lastError: { code: "lease_expired" },
    });
    flow.start([scripted(succeed(), {}, GONE)]);
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed" });
  });

  test("put back late by an old instance that lost its lease, it stays as the new one left it (H07)", async () => {
    const jobId = await createForOldInstance();
    const old = flow.instance;
    const gate = held();
    old.ports.rule = async ({ method }) => {
      if (method === "finish") await gate.run({} as never);
      return undefined;
    };
    const delivery = flow.qstash.deliverDue();
    await gate.started;
    await flow.advance(61);
    flow.start([scripted(succeed("new"), {}, GONE)]);
    expect(await sendAgain(flow, old.captured[0])).toMatchObject({
      body: { outcome: "completed" },
    });
    gate.release();
    expect(JSON.parse((await delivery)[0]?.body ?? "")).toMatchObject({ reason: "lease_lost" });
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", result: "new" });
    expect(await flow.attempts(jobId)).toMatchObject([
      { outcome: "lease_expired", late_outcome: "unknown_type" },
      { outcome: "completed", late_outcome: null },
    ]);
  });

  test("is refused at create where nobody knows it, and nothing is written (H07)", async () => {
    flow.start([other]);
    const body = { type: GONE, payload: {} };
    const response = await flow.request("POST", "/api/jobs", { body });
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ code: "unknown_job_type" });
    expect(await flow.query("select id from jobs")).toEqual([]);
  });
});
