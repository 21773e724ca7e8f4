import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob, FatalError } from "../../src/core/define-job.js";
import type { Json } from "../../src/core/job.js";
import { createWorld, KEYS, PUBLIC_URL, type World } from "../support/world.js";

const runs = new Map<string, number>();
const scripted = defineJob({
  type: "test.scripted",
  payload: z.object({ end: z.string().optional() }),
  backoff: { baseSeconds: 30, maxSeconds: 30, jitterSeconds: 0 },
  run: ({ payload: { end }, operationId, attempt }) => {
    runs.set(operationId, (runs.get(operationId) ?? 0) + 1);
    if (end === "fatal") throw new FatalError("as asked");
    if (end === "retry" && attempt === 1) throw new Error("as asked");
  },
});

let world: World;
beforeAll(async () => {
  world = await createWorld({ jobs: [scripted] });
});
afterAll(() => world.close());
afterEach(async () => {
  world.qstash.refusePublishes(null);
  world.database.neon.setFault(null);
  await world.runUntilIdle();
});

const jobOf = (end?: string): Json => ({ type: scripted.type, payload: end ? { end } : {} });
/** Both ways to create; `many` messages travel in one call, a single one by itself. */
const ENTRIES = [
  { path: "/api/jobs", body: jobOf(), jobs: 1 },
  { path: "/api/jobs/batch", body: { jobs: [jobOf(), jobOf(), jobOf()] } as Json, jobs: 3 },
];

const create = (end?: string, more: Record<string, unknown> = {}) =>
  world.create(scripted.type, end ? { end } : {}, more);

async function post(path: string, body: Json) {
  const response = await world.request("POST", path, { body });
  return { status: response.status, ids: idsIn(await response.text()) };
}

const idsIn = (text: string): string[] => [
  ...new Set(text.match(/[0-9a-f]{8}-[0-9a-f-]{27}/g) ?? []),
];

const isPublished = async (jobId: string): Promise<boolean> =>
  (await world.row(jobId)).triggered_at !== null;

async function expectRunOnce(ids: string[], attempts = 1): Promise<void> {
  for (const id of ids) {
    expect(await world.job(id)).toMatchObject({ status: "completed", attempts });
    expect(runs.get(id)).toBe(attempts);
  }
}

describe.each(ENTRIES)("POST $path", ({ path, body, jobs }) => {
  test.each([500, 503, 429, 401, 400])(
    "is accepted although QStash answers %i, and the next sweep publishes what it made, once (F01)",
    async (status) => {
      const before = world.qstash.counts().messages;
      world.qstash.refusePublishes({ status });
      world.database.neon.requests = 0;
      const { status: answer, ids } = await post(path, body);
      expect([answer, ids.length]).toEqual([202, jobs]);
      expect(world.database.neon.requests).toBe(2);
      for (const id of ids) expect(await isPublished(id)).toBe(false);
      world.qstash.refusePublishes(null);
      expect(await world.sweep()).toMatchObject({
        published: jobs,
        publishFailures: 0,
        ranInSweep: 0,
      });
      expect(await world.sweep()).toMatchObject({ published: 0 });
      expect(world.qstash.counts().messages - before).toBe(jobs);
      await world.qstash.deliverDue();
      await expectRunOnce(ids);
    },
  );

  test("sends one message where the answer to its publish is lost once (F02)", async () => {
    const { messages } = world.qstash.counts();
    world.qstash.refusePublishes("cut", { times: 1 });
    const { ids } = await post(path, body);
    for (const id of ids) expect(await isPublished(id)).toBe(true);
    expect(world.qstash.counts().messages - messages).toBe(jobs);
    await world.qstash.deliverDue();
    await expectRunOnce(ids);
  });

  test("sends no second message where the answers are all lost: the sweep's is the same one (F02)", async () => {
    const { messages } = world.qstash.counts();
    world.qstash.refusePublishes("cut", { times: 2 });
    const { ids } = await post(path, body);
    for (const id of ids) expect(await isPublished(id)).toBe(false);
    await world.sweep();
    expect(world.qstash.counts().messages - messages).toBe(jobs);
    await world.qstash.deliverDue();
    await expectRunOnce(ids);
  });

  test("waits ten seconds at most for a QStash that does not answer, and then is answered (V06)", async () => {
    world.qstash.refusePublishes("hang");
    let isAnswered = false;
    const answer = post(path, body).finally(() => {
      isAnswered = true;
    });
    for (let tries = 0; tries < 2; tries += 1) {
      await expect.poll(() => world.instance.timers.waiting()).toBe(1);
      expect(isAnswered).toBe(false);
      await world.instance.timers.advance(5000);
    }
    const { status, ids } = await answer;
    expect(status).toBe(202);
    for (const id of ids) expect(await isPublished(id)).toBe(false);
    world.qstash.refusePublishes(null);
    await world.sweep();
    await world.qstash.deliverDue();
    await expectRunOnce(ids);
  });

  test("is found as vanished when its failed publish could not even be written down", async () => {
    world.qstash.refusePublishes({ status: 503 });
    world.database.neon.setFault({
      action: "refuse",
      matching: (sql) => sql.includes("/* mark-unpublished */"),
    });
    const { status, ids } = await post(path, body);
    expect(status).toBe(202);
    for (const id of ids) expect(await isPublished(id)).toBe(true);
    world.qstash.refusePublishes(null);
    world.database.neon.setFault(null);
    // A silent type is probed first; the rest follows once the probe was answered (I9).
    for (let sweeps = 0; sweeps < 2; sweeps += 1) {
      await world.advance(15 * 60);
      await world.sweep();
      await world.qstash.deliverDue();
    }
    await expectRunOnce(ids);
  });
});

describe.each(ENTRIES)(
  "POST $path where the platform keeps the instance after the answer",
  ({ path, body, jobs }) => {
    /** Posts with a `waitUntil`; the publishes come to no end before they are released. */
    async function postAndHold() {
      const instance = world.newInstance();
      const released = Promise.withResolvers<undefined>();
      const works: Promise<unknown>[] = [];
      instance.ports.rule = ({ port }) => (port === "trigger" ? released.promise : undefined);
      const request = new Request(`${PUBLIC_URL}${path}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${KEYS.acme}`,
          "content-type": "application/json",
          "idempotency-key": crypto.randomUUID(),
        },
        body: JSON.stringify(body),
      });
      const waitUntil = (work: Promise<unknown>) => void works.push(work);
      const response = await instance.app.fetch(request, { waitUntil });
      const ids = idsIn(await response.text());
      expect([response.status, ids.length, works.length]).toEqual([202, jobs, 1]);
      const finish = async () => {
        released.resolve(undefined);
        await Promise.all(works);
      };
      return { instance, ids, finish };
    }

    test("is answered before its publish, which the platform is asked to wait for (V06)", async () => {
      const before = world.qstash.counts().messages;
      const { ids, finish } = await postAndHold();
      expect(world.qstash.counts().messages).toBe(before);
      await finish();
      expect(world.qstash.counts().messages - before).toBe(jobs);
      await world.qstash.deliverDue();
      await expectRunOnce(ids);
    });

    test("is not lost when the instance is frozen all the same: sweeps find it (V06)", async () => {
      const before = world.qstash.counts().messages;
      const { instance, ids } = await postAndHold();
      instance.ports.kill();
      for (let sweeps = 0; sweeps < 2; sweeps += 1) {
        await world.advance(15 * 60);
        await world.sweep();
        await world.qstash.deliverDue();
      }
      await expectRunOnce(ids);
      expect(world.qstash.counts().messages - before).toBe(jobs);
    });

    test("runs once when the frozen instance wakes up and publishes late (V06)", async () => {
      const { ids, finish } = await postAndHold();
      for (let sweeps = 0; sweeps < 2; sweeps += 1) {
        await world.advance(15 * 60);
        await world.sweep();
        await world.qstash.deliverDue();
      }
      await finish();
      await world.runUntilIdle();
      await expectRunOnce(ids);
    });

    test("notes what failed after the answer, for the next sweep (V06)", async () => {
      const { ids, finish } = await postAndHold();
      world.qstash.refusePublishes({ status: 503 });
      await finish();
      for (const id of ids) expect(await isPublished(id)).toBe(false);
      world.qstash.refusePublishes(null);
      expect(await world.sweep()).toMatchObject({ published: jobs });
      await world.qstash.deliverDue();
      await expectRunOnce(ids);
    });
  },
);

describe("a publish that fails after another step", () => {
  test("a retry: the delivery is done, and the sweep publishes the next message, at its time", async () => {
    const jobId = await create("retry");
    world.qstash.refusePublishes({ status: 503 });
    expect(await world.qstash.deliverDue()).toMatchObject([{ status: 200 }]);
    world.qstash.refusePublishes(null);
    expect(await world.sweep()).toMatchObject({ published: 1 });
    expect(await world.qstash.deliverDue()).toEqual([]);
    await world.runUntilIdle();
    await expectRunOnce([jobId], 2);
  });

  test.each(["replay", "run-now"])("%s: is accepted, and the sweep publishes", async (verb) => {
    const jobId = await create(undefined, { delaySeconds: verb === "replay" ? 0 : 7200 });
    if (verb === "replay") await world.request("POST", `/api/jobs/${jobId}/cancel`);
    await world.qstash.deliverDue();
    world.qstash.refusePublishes({ status: 500 });
    const answer = await world.request("POST", `/api/jobs/${jobId}/${verb}`);
    expect(answer.status).toBe(202);
    expect(await isPublished(jobId)).toBe(false);
    world.qstash.refusePublishes(null);
    expect(await world.sweep()).toMatchObject({ published: 1 });
    await world.qstash.deliverDue();
    await expectRunOnce([jobId]);
  });

  test("a bulk replay: is accepted, and the sweep publishes them all", async () => {
    const ids = [await create("fatal"), await create("fatal")];
    await world.qstash.deliverDue();
    world.qstash.refusePublishes({ status: 500 });
    const body = { type: scripted.type };
    const answer = await world.request("POST", "/api/dead-letters/replay", { body });
    expect(await answer.json()).toMatchObject({ replayed: 2 });
    for (const id of ids) expect(await isPublished(id)).toBe(false);
    world.qstash.refusePublishes(null);
    expect(await world.sweep()).toMatchObject({ published: 2 });
    await world.qstash.deliverDue();
    for (const id of ids) expect(runs.get(id)).toBe(2);
  });
});
