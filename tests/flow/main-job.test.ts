import { expect, test } from "vitest";
import * as z from "zod";
import { defineJob, FatalError } from "../../src/core/define-job.js";
import { KEYS, worldForTest } from "../support/world.js";

const echo = defineJob({
  type: "test.echo",
  payload: z.unknown(),
  run: ({ payload, operationId }) => ({ operationId, got: payload as never }),
});

test("a job goes from create through a signed delivery to completed", async () => {
  const world = await worldForTest({ jobs: [echo] });
  const jobId = await world.create("test.echo", { a: 1 });
  expect(await world.job(jobId)).toMatchObject({ status: "queued", attempts: 0, attemptsLeft: 8 });
  const [delivered] = await world.qstash.deliverDue();
  expect(delivered).toMatchObject({ status: 200 });
  expect(JSON.parse(delivered?.body ?? "")).toEqual({
    outcome: "completed",
    jobId,
    ranJobId: jobId,
  });
  expect(await world.job(jobId)).toMatchObject({
    status: "completed",
    attempts: 1,
    result: { operationId: jobId, got: { a: 1 } },
    lockedUntil: null,
  });
});

test("create costs one round trip and one QStash call, a successful delivery two round trips and none", async () => {
  const world = await worldForTest({ jobs: [echo] });
  world.database.neon.requests = 0;
  await world.create("test.echo", {});
  expect(world.database.neon.requests).toBe(1);
  expect(world.qstash.counts()).toMatchObject({ publishRequests: 1 });
  await world.qstash.deliverDue();
  expect(world.database.neon.requests).toBe(3);
  expect(world.qstash.counts()).toMatchObject({ publishRequests: 1 });
});

test("a job that always fails runs exactly max_attempts times, spaced by our backoff, with QStash's retries on (K09)", async () => {
  const startedAt: number[] = [];
  const failing = defineJob({
    type: "test.failing",
    payload: z.unknown(),
    backoff: { baseSeconds: 30, maxSeconds: 3600, jitterSeconds: 0 },
    run: () => {
      startedAt.push(world.qstash.now());
      throw new Error("boom");
    },
  });
  const world = await worldForTest({ jobs: [failing] });
  const jobId = await world.create("test.failing", {}, { maxAttempts: 3 });
  await world.runUntilIdle();
  const gaps = startedAt.slice(1).map((at, n) => Math.round((at - (startedAt[n] ?? 0)) / 1000));
  expect(startedAt).toHaveLength(3);
  expect(gaps[0]).toBeGreaterThanOrEqual(30);
  expect(gaps[1]).toBeGreaterThanOrEqual(60);
  expect(await world.job(jobId)).toMatchObject({
    status: "dead_letter",
    attempts: 3,
    attemptsLeft: 0,
    lastError: { code: "handler_error", message: "boom", retryable: false },
  });
  expect((await world.attempts(jobId)).map(({ outcome }) => outcome)).toEqual([
    "failed",
    "failed",
    "dead_letter",
  ]);
});

test("a fatal error ends the job at its first attempt, and QStash is not asked to retry (J10)", async () => {
  const fatal = defineJob({
    type: "test.fatal",
    payload: z.unknown(),
    run: () => {
      throw new FatalError("never");
    },
  });
  const world = await worldForTest({ jobs: [fatal] });
  const jobId = await world.create("test.fatal", {});
  expect(await world.qstash.deliverDue()).toMatchObject([{ status: 200 }]);
  expect(world.qstash.pending()).toEqual([]);
  expect(await world.job(jobId)).toMatchObject({ status: "dead_letter", attempts: 1 });
});

test("another tenant's job is a 404 like an unknown one (R04)", async () => {
  const world = await worldForTest({ jobs: [echo] });
  const jobId = await world.create("test.echo", {});
  const foreign = await world.request("GET", `/api/jobs/${jobId}`, { secret: KEYS.globex });
  expect(foreign.status).toBe(404);
});
