import { neonConfig } from "@neondatabase/serverless";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { defineJob, FatalError } from "../../src/core/define-job.js";
import type { Json } from "../../src/core/job.js";
import { createWorld, KEYS, type World } from "../support/world.js";

const runs = new Map<string, number>();
const scripted = defineJob({
  type: "test.scripted",
  payload: z.object({ end: z.string().optional() }),
  run: async ({ payload: { end }, operationId, progress, once }) => {
    runs.set(operationId, (runs.get(operationId) ?? 0) + 1);
    await progress({ half: true });
    await once("effect", () => ({ done: true }));
    if (end === "fatal") throw new FatalError("as asked");
  },
});

let world: World;
beforeAll(async () => {
  world = await createWorld({ jobs: [scripted] });
});
afterAll(() => world.close());
afterEach(async () => {
  world.database.neon.setFault(null);
  vi.restoreAllMocks();
  await world.runUntilIdle();
});

interface Answer {
  status: number;
  code: string | undefined;
  retryAfter: number;
}

async function answerOf(responding: Promise<Response>): Promise<Answer> {
  const response = await responding;
  const { code } = (await response.json()) as { code?: string };
  return { status: response.status, code, retryAfter: Number(response.headers.get("retry-after")) };
}

const ask = (path: string, body?: Json): Promise<Answer> =>
  answerOf(world.request(body === undefined ? "GET" : "POST", path, { body, secret: KEYS.admin }));

const create = (more: Record<string, unknown> = {}, payload: Json = {}) =>
  world.create(scripted.type, payload, more);

async function dead(): Promise<string> {
  const jobId = await create({}, { end: "fatal" });
  await world.qstash.deliverDue();
  return jobId;
}

/** What a client or an operator asks for; each is prepared first, and then asked. */
const CALLS: Record<string, () => Promise<() => Promise<Answer>>> = {
  create: async () => () => ask("/api/jobs", { type: scripted.type, payload: {} }),
  "create a batch": async () => () =>
    ask("/api/jobs/batch", { jobs: Array(3).fill({ type: scripted.type, payload: {} }) }),
  read: async () => {
    const jobId = await create();
    return () => ask(`/api/jobs/${jobId}`);
  },
  cancel: async () => {
    const jobId = await create({ delaySeconds: 600 });
    return () => ask(`/api/jobs/${jobId}/cancel`, {});
  },
  "run now": async () => {
    const jobId = await create({ delaySeconds: 600 });
    return () => ask(`/api/jobs/${jobId}/run-now`, {});
  },
  replay: async () => {
    const jobId = await dead();
    return () => ask(`/api/jobs/${jobId}/replay`, {});
  },
  "replay many": async () => {
    await dead();
    return () => ask("/api/dead-letters/replay", { type: scripted.type });
  },
  "list types": async () => () => ask("/api/types"),
  resume: async () => () => ask(`/api/types/${scripted.type}/resume`, {}),
};

describe("a first call that finds the database asleep is repeated within the same request (V09)", () => {
  const SLEEPS = [
    { action: "refuse" },
    { action: "status", status: 500 },
    { action: "status", status: 503 },
    { action: "lose-answer" },
  ] as const;

  test.each(Object.keys(CALLS))("%s", async (name) => {
    for (const fault of SLEEPS) {
      const call = await CALLS[name]?.();
      const { struck } = world.database.neon.setFault({ ...fault, nth: 1 });
      const answer = await call?.();
      expect([200, 202], JSON.stringify({ fault, answer })).toContain(answer?.status);
      await struck;
      world.database.neon.setFault(null);
    }
  });

  test("a delivery, at each of its calls: one attempt, one run, one outcome", async () => {
    // Claim, progress, the effect's start and end, finish.
    for (const nth of [1, 2, 3, 4, 5]) {
      for (const fault of SLEEPS) {
        const jobId = await create();
        const { struck } = world.database.neon.setFault({ ...fault, nth });
        expect(await world.qstash.deliverDue()).toMatchObject([{ status: 200 }]);
        await struck;
        world.database.neon.setFault(null);
        expect(await world.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
        expect(runs.get(jobId)).toBe(1);
        expect(await world.attempts(jobId)).toMatchObject([{ number: 1, outcome: "completed" }]);
      }
    }
  });

  test("a database that wakes up late is waited for", async () => {
    const jobId = await create();
    const awake = Promise.withResolvers<void>();
    const { struck } = world.database.neon.setFault({
      action: "delay",
      until: awake.promise,
      nth: 1,
    });
    const delivery = world.qstash.deliverDue();
    await struck;
    awake.resolve();
    expect(await delivery).toMatchObject([{ status: 200 }]);
    expect(await world.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });
});

describe("a database that stays away", () => {
  test.each(Object.keys(CALLS))(
    "is told to who asks to %s, who may then ask again (V09)",
    async (name) => {
      const call = await CALLS[name]?.();
      world.database.neon.setFault({ action: "refuse" });
      expect(await call?.()).toEqual({ status: 503, code: "store_unavailable", retryAfter: 5 });
      world.database.neon.setFault(null);
      expect([200, 202]).toContain((await call?.())?.status);
    },
  );

  test("sends deliveries back after 15, 120 and 900 seconds, and costs no attempt (V09)", async () => {
    const jobId = await create();
    world.database.neon.setFault({ action: "refuse" });
    const waits: number[] = [];
    for (let tries = 0; tries < 3; tries += 1) {
      const [delivered] = await world.qstash.deliverDue();
      expect(delivered).toMatchObject({ status: 503 });
      waits.push(Number(delivered?.headers["retry-after"]));
      await world.advance(waits.at(-1) ?? 0);
    }
    expect(waits).toEqual([15, 120, 900]);
    world.database.neon.setFault(null);
    expect(await world.job(jobId)).toMatchObject({ status: "queued", attempts: 0 });
    expect(await world.qstash.deliverDue()).toMatchObject([{ status: 200 }]);
    expect(await world.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("leaves a sweep's steps undone, and the next sweep does them", async () => {
    world.qstash.refusePublishes({ status: 503 });
    const jobId = await create();
    world.qstash.refusePublishes(null);
    world.database.neon.setFault({ action: "status", status: 503 });
    const broken = await world.sweep();
    expect((broken.failedSteps as string[]).length).toBeGreaterThan(4);
    world.database.neon.setFault(null);
    expect(await world.sweep()).toMatchObject({ failedSteps: [], published: 1 });
    await world.runUntilIdle();
    expect(await world.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });
});

describe("a database that accepts and never answers", () => {
  /** Makes the limit of each call short, in place of the 10 seconds that are asked for. */
  function shortenLimits(): number[] {
    const real = AbortSignal.timeout.bind(AbortSignal);
    const asked: number[] = [];
    vi.spyOn(AbortSignal, "timeout").mockImplementation((milliseconds) => {
      asked.push(milliseconds);
      return real(20);
    });
    return asked;
  }

  test.each(Object.keys(CALLS))(
    "holds up who asks to %s for two limited calls (V03)",
    async (name) => {
      const call = await CALLS[name]?.();
      const asked = shortenLimits();
      world.database.neon.setFault({ action: "hang" });
      expect(await call?.()).toEqual({ status: 503, code: "store_unavailable", retryAfter: 5 });
      expect(asked).toEqual([10_000, 10_000]);
      vi.restoreAllMocks();
      world.database.neon.setFault(null);
      expect([200, 202]).toContain((await call?.())?.status);
    },
  );

  test("is given up by a delivery, which comes again and runs the job once (V03)", async () => {
    const jobId = await create();
    const asked = shortenLimits();
    world.database.neon.setFault({ action: "hang" });
    const [delivered] = await world.qstash.deliverDue();
    expect(delivered).toMatchObject({ status: 503, outcome: "retry" });
    expect(asked).toEqual([10_000, 10_000]);
    vi.restoreAllMocks();
    world.database.neon.setFault(null);
    await world.runUntilIdle();
    expect(await world.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
    expect(runs.get(jobId)).toBe(1);
  });

  test.each([1, 2, 3, 4, 5])(
    "at call %i of a delivery only, is asked once more (V03)",
    async (nth) => {
      const jobId = await create();
      let calls = 0;
      const real = AbortSignal.timeout.bind(AbortSignal);
      vi.spyOn(AbortSignal, "timeout").mockImplementation((milliseconds) => {
        calls += 1;
        return real(calls === nth ? 20 : milliseconds);
      });
      world.database.neon.setFault({ action: "hang", nth });
      expect(await world.qstash.deliverDue()).toMatchObject([{ status: 200 }]);
      expect(await world.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
      expect(runs.get(jobId)).toBe(1);
    },
  );
});

test("an application that sends its own database's calls elsewhere does not send ours there", async () => {
  const { fetchEndpoint } = neonConfig;
  neonConfig.fetchEndpoint = "http://127.0.0.1:1/sql";
  try {
    expect(await world.job(await create())).toMatchObject({ status: "queued" });
    const chosen = neonConfig.fetchEndpoint as unknown as (host: string, port: string) => string;
    expect(chosen("other.example", "5432")).toBe("http://127.0.0.1:1/sql");
  } finally {
    neonConfig.fetchEndpoint = fetchEndpoint;
  }
});
