import { expect, test } from "vitest";
import * as z from "zod";
import { defineJob } from "../../src/core/define-job.js";
import { worldForTest } from "../support/world.js";

test("a worker runs the types that are never published, and stops when it is told to", async () => {
  const stop = new AbortController();
  const seen: number[] = [];
  const heavy = defineJob({
    type: "test.heavy",
    payload: z.object({ n: z.number() }),
    runsOn: "worker",
    run: ({ payload }) => {
      seen.push(payload.n);
      if (seen.length === 5) stop.abort();
    },
  });
  const world = await worldForTest({ jobs: [heavy] });
  const ids = [];
  for (let n = 0; n < 5; n += 1) ids.push(await world.create("test.heavy", { n }));
  await world.sweep();
  expect(world.qstash.counts()).toMatchObject({ messages: 0 });
  await world.instance.app.work({
    types: ["test.heavy"],
    concurrency: 2,
    pollSeconds: 1,
    stop: stop.signal,
  });
  expect(seen.toSorted()).toEqual([0, 1, 2, 3, 4]);
  for (const id of ids)
    expect(await world.job(id)).toMatchObject({ status: "completed", attempts: 1 });
});

test("a retry of a worker's job is not published either, and the worker comes back to it", async () => {
  const stop = new AbortController();
  let runs = 0;
  const flaky = defineJob({
    type: "test.flaky",
    payload: z.unknown(),
    runsOn: "worker",
    backoff: { baseSeconds: 30, jitterSeconds: 0 },
    run: () => {
      runs += 1;
      if (runs === 1) throw new Error("not yet");
      stop.abort();
    },
  });
  const world = await worldForTest({ jobs: [flaky] });
  const id = await world.create("test.flaky", {});
  const working = world.instance.app.work({
    types: ["test.flaky"],
    concurrency: 1,
    pollSeconds: 1,
    stop: stop.signal,
  });
  await expect.poll(() => world.row(id)).toMatchObject({ status: "failed" });
  await expect.poll(() => world.instance.timers.waiting()).toBe(1);
  await world.advance(31);
  await working;
  expect(await world.job(id)).toMatchObject({ status: "completed", attempts: 2 });
  expect(world.qstash.counts()).toMatchObject({ messages: 0 });
});

test("a worker survives an outage of the database", async () => {
  const stop = new AbortController();
  const ok = defineJob({
    type: "test.ok",
    payload: z.unknown(),
    runsOn: "worker",
    run: () => stop.abort(),
  });
  const world = await worldForTest({ jobs: [ok] });
  const id = await world.create("test.ok", {});
  let failures = 0;
  world.instance.ports.rule = ({ method }) => {
    if (method !== "claimDue" || failures >= 2) return undefined;
    failures += 1;
    return "fail";
  };
  const working = world.instance.app.work({
    types: ["test.ok"],
    concurrency: 1,
    pollSeconds: 1,
    stop: stop.signal,
  });
  for (const seconds of [1, 2]) {
    await expect.poll(() => world.instance.timers.waiting()).toBe(1);
    await world.advance(seconds);
  }
  await working;
  expect(await world.job(id)).toMatchObject({ status: "completed" });
});

test("a type that is not registered is refused, with the names of those that are", async () => {
  const ok = defineJob({ type: "test.ok", payload: z.unknown(), runsOn: "worker", run: () => {} });
  const world = await worldForTest({ jobs: [ok] });
  const options = {
    types: ["test.other"],
    concurrency: 1,
    pollSeconds: 1,
    stop: AbortSignal.abort(),
  };
  await expect(world.instance.app.work(options)).rejects.toThrow(/test\.other.*known: test\.ok/);
});
