import { expect, test } from "vitest";
import * as z from "zod";
import { defineJob } from "../../src/core/define-job.js";
import { KEYS, worldForTest } from "../support/world.js";

test("a handler that stops for a cancel request leaves a cancelled job without an error", async () => {
  const obedient = defineJob({
    type: "test.obedient",
    payload: z.unknown(),
    run: async ({ signal }) => {
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      throw signal.reason;
    },
  });
  const world = await worldForTest({ jobs: [obedient] });
  const jobId = await world.create("test.obedient", {});
  const delivered = world.qstash.deliverDue();
  await expect.poll(() => world.instance.timers.waiting()).toBe(2);
  const cancel = await world.request("POST", `/api/jobs/${jobId}/cancel`, { body: {} });
  expect(cancel.status).toBe(202);
  await world.advance(20);
  await delivered;
  expect(await world.job(jobId)).toMatchObject({ status: "cancelled", lastError: null });
  expect(await world.attempts(jobId)).toMatchObject([{ outcome: "cancelled", error_code: null }]);
});

test("an effect that is done in truth wins over a human's not done, so it is not repeated", async () => {
  let release = (): void => {};
  const charged: number[] = [];
  const charging = defineJob({
    type: "test.charging",
    payload: z.unknown(),
    leaseSeconds: 5,
    run: async ({ once, attempt }) => {
      await once(
        "charge",
        async () => {
          charged.push(attempt);
          await new Promise<void>((resolve) => {
            release = resolve;
          });
          return { chargeId: "ch_1" };
        },
        { ifUnknown: "dead_letter" },
      );
    },
  });
  const world = await worldForTest({ jobs: [charging] });
  const jobId = await world.create("test.charging", {}, { maxAttempts: 1 });
  const delivered = world.qstash.deliverDue();
  await expect.poll(() => charged).toEqual([1]);
  await world.database.advance(6);
  await world.sweep();
  expect(await world.job(jobId)).toMatchObject({ status: "dead_letter" });
  const settled = await world.request("POST", `/api/jobs/${jobId}/effects/charge/settle`, {
    secret: KEYS.admin,
    body: { outcome: "not_done", reason: "not seen at the provider" },
  });
  expect(settled.status).toBe(200);
  release();
  await delivered;
  await world.request("POST", `/api/jobs/${jobId}/replay`, { body: {} });
  await world.qstash.deliverDue();
  expect(charged).toEqual([1]);
  expect(await world.job(jobId)).toMatchObject({ status: "completed" });
});

test("the log names the job that a delivery was for beside the one that it ran", async () => {
  const echo = defineJob({
    type: "test.echo",
    payload: z.unknown(),
    run: () => {},
  });
  const world = await worldForTest({ jobs: [echo] });
  const ordinary = await world.create("test.echo", {});
  const urgent = await world.create("test.echo", {}, { priority: 9 });
  const [first] = world.qstash.pending();
  await world.qstash.deliver(first?.messageId ?? "");
  expect(world.logs.find(({ event }) => event === "attempt_claimed")).toMatchObject({
    jobId: urgent,
    namedJobId: ordinary,
  });
});
