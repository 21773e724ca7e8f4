import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob, FatalError, type JobContext } from "../../src/core/define-job.js";
import type { Json } from "../../src/core/job.js";
import { createWorld, KEYS, type World } from "../support/world.js";

/** Where a handler waits while a test holds it. */
let held: { reached: PromiseWithResolvers<void>; opened: PromiseWithResolvers<void> } | undefined;

const payload = z.object({ end: z.string(), id: z.string().optional() });
const options = {
  payload,
  maxAttempts: 3,
  backoff: { baseSeconds: 30, maxSeconds: 30, jitterSeconds: 0 },
  run: async (context: JobContext<z.output<typeof payload>>) => {
    const { attempt, snooze, progress } = context;
    const { end } = context.payload;
    held?.reached.resolve();
    await held?.opened.promise;
    if (end === "fatal") throw new FatalError("as asked");
    if (end === "retry" && attempt === 1) throw new Error("as asked");
    if (end === "snooze" && attempt === 1) snooze(30);
    if (end === "cancel") {
      await progress({});
      throw new Error("stopped");
    }
    return { ok: true };
  },
};
const derive = ({ id }: z.output<typeof payload>) => (id === undefined ? undefined : `id:${id}`);
const untilFinished = defineJob({ type: "test.finished", dedupe: { key: derive }, ...options });
const untilStarted = defineJob({
  type: "test.started",
  dedupe: { key: derive, until: "started" },
  ...options,
});

let world: World;
beforeAll(async () => {
  world = await createWorld({ jobs: [untilFinished, untilStarted] });
});
afterAll(() => world.close());
afterEach(() => world.runUntilIdle());

interface Item {
  jobId: string;
  status: string;
  deduplicated: boolean;
}

interface Answer {
  status: number;
  jobId: string;
  deduplicated: boolean;
  jobStatus: string;
  code: string | undefined;
  retryAfter: string | null;
}

interface Wish {
  type?: string;
  end?: string;
  id?: string;
  dedupeKey?: string;
  secret?: string;
  idempotencyKey?: string;
}

/** Creates a job alone or in a batch of one; both answer alike. */
type Create = (wish: Wish) => Promise<Answer>;

const creating =
  (path: string): Create =>
  async ({ type = untilFinished.type, end = "complete", id, dedupeKey, ...how }) => {
    const job = { type, payload: { end, id } as Json, dedupeKey };
    const isBatch = path.endsWith("batch");
    const response = await world.request("POST", path, {
      body: isBatch ? { jobs: [job] } : job,
      ...how,
    });
    const answer = (await response.json()) as Item & { code?: string; jobs?: Item[] };
    const item = answer.jobs?.[0] ?? answer;
    return {
      status: response.status,
      jobId: item.jobId,
      deduplicated: item.deduplicated,
      jobStatus: item.status,
      code: answer.code,
      retryAfter: response.headers.get("retry-after"),
    };
  };
const ENTRIES = ["/api/jobs", "/api/jobs/batch"].map((path) => ({ path, create: creating(path) }));

let lastKey = 0;
const freshKey = (): string => `dedupe-${++lastKey}`;
const statusOf = async (jobId: string): Promise<string> => (await world.job(jobId)).status;
const act = (jobId: string, verb: string) => world.request("POST", `/api/jobs/${jobId}/${verb}`);

/** Delivers the first message that is due, and returns while its handler waits. */
async function startNext(): Promise<{ finish: () => Promise<void> }> {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  held = { reached, opened };
  const delivery = world.qstash.deliverNext();
  await reached.promise;
  return {
    async finish() {
      held = undefined;
      opened.resolve();
      await delivery;
    },
  };
}

describe.each(ENTRIES)("on POST $path", ({ create }) => {
  test("the key comes from the payload where the type derives one, and the request's wins", async () => {
    const id = freshKey();
    const derived = await create({ id });
    const again = await create({ id });
    const asked = await create({ id, dedupeKey: freshKey() });
    const underived = await create({ dedupeKey: `id:${id}` });
    const none = [await create({}), await create({})];
    expect(derived).toMatchObject({ status: 202, deduplicated: false, jobStatus: "queued" });
    expect(again).toEqual({ ...derived, deduplicated: true });
    expect(asked).toMatchObject({ deduplicated: false });
    expect(underived).toEqual({ ...derived, deduplicated: true });
    expect(none.map(({ deduplicated }) => deduplicated)).toEqual([false, false]);
    expect(none[0]?.jobId).not.toBe(none[1]?.jobId);
  });

  test("a hit leaves the active job as it is, publishes nothing, and is remembered under its key", async () => {
    const dedupeKey = freshKey();
    const idempotencyKey = freshKey();
    const { jobId } = await create({ dedupeKey });
    const [row, { messages }] = [await world.row(jobId), world.qstash.counts()];
    const hit = await create({ dedupeKey, idempotencyKey });
    expect(hit).toMatchObject({ status: 202, jobId, deduplicated: true });
    expect(await world.row(jobId)).toEqual(row);
    expect(world.qstash.counts().messages).toBe(messages);
    await world.runUntilIdle();
    expect(await statusOf(jobId)).toBe("completed");
    // The stored answer of that time, although the dedupe key is free by now.
    expect(await create({ dedupeKey, idempotencyKey })).toEqual(hit);
    expect((await create({ dedupeKey })).jobId).not.toBe(jobId);
  });

  test("a key is one tenant's and one type's", async () => {
    const dedupeKey = freshKey();
    const jobs = [
      await create({ dedupeKey }),
      await create({ dedupeKey, secret: KEYS.globex }),
      await create({ dedupeKey, type: untilStarted.type }),
    ];
    expect(jobs.map(({ deduplicated }) => deduplicated)).toEqual([false, false, false]);
    expect(new Set(jobs.map(({ jobId }) => jobId)).size).toBe(3);
    const foreign = await create({ dedupeKey, secret: KEYS.globex });
    expect(foreign.jobId).toBe(jobs[1]?.jobId);
  });

  test("of 20 at once with one dedupe key, one creates and all are given its job", async () => {
    const dedupeKey = freshKey();
    const { messages } = world.qstash.counts();
    const answers = await Promise.all(Array.from({ length: 20 }, () => create({ dedupeKey })));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202));
    expect(answers.filter(({ deduplicated }) => !deduplicated)).toHaveLength(1);
    expect(new Set(answers.map(({ jobId }) => jobId)).size).toBe(1);
    expect(world.qstash.counts().messages).toBe(messages + 1);
  });

  test.each(["complete", "fatal", "cancel"])(
    "until finished: the key is taken in every active state, and free after the end by %s",
    async (end) => {
      const dedupeKey = freshKey();
      const { jobId } = await create({ dedupeKey, end });
      const running = await startNext();
      expect(await create({ dedupeKey })).toMatchObject({ jobId, jobStatus: "processing" });
      if (end === "cancel") await act(jobId, "cancel");
      await running.finish();
      const ends: Record<string, string> = { complete: "completed", fatal: "dead_letter" };
      expect(await statusOf(jobId)).toBe(ends[end] ?? "cancelled");
      expect(await create({ dedupeKey })).toMatchObject({ status: 202, deduplicated: false });
    },
  );

  test.each([
    ["retry", "failed"],
    ["snooze", "queued"],
  ])("until finished: a job that waits again after a %s still has its key", async (end, status) => {
    const dedupeKey = freshKey();
    const { jobId } = await create({ dedupeKey, end });
    await world.qstash.deliverDue();
    expect(await create({ dedupeKey })).toMatchObject({ jobId, jobStatus: status });
    await act(jobId, "cancel");
    expect((await create({ dedupeKey })).deduplicated).toBe(false);
  });

  test.each(["retry", "snooze"])(
    "until started: the key is free from the first claim on, also after a %s; a replay takes it again",
    async (end) => {
      const type = untilStarted.type;
      const dedupeKey = freshKey();
      const first = await create({ type, dedupeKey, end });
      expect(await create({ type, dedupeKey })).toMatchObject({ jobId: first.jobId });
      await world.qstash.deliverDue();
      expect(["failed", "queued"]).toContain(await statusOf(first.jobId));
      const second = await create({ type, dedupeKey });
      expect(second.deduplicated).toBe(false);
      await act(first.jobId, "cancel");
      const conflict = await act(first.jobId, "replay");
      expect(conflict.status).toBe(409);
      const problem = (await conflict.json()) as { code: string };
      expect(problem.code).toBe("dedupe_conflict");
      expect(JSON.stringify(problem)).toContain(second.jobId);
      await world.runUntilIdle();
      expect((await act(first.jobId, "replay")).status).toBe(202);
      expect(await create({ type, dedupeKey })).toMatchObject({ jobId: first.jobId });
      await world.qstash.deliverDue();
      expect((await create({ type, dedupeKey })).deduplicated).toBe(false);
    },
  );

  test("an active job that is being cancelled refuses the request, which then is not remembered", async () => {
    const dedupeKey = freshKey();
    const idempotencyKey = freshKey();
    const { jobId } = await create({ dedupeKey, end: "cancel" });
    const running = await startNext();
    expect((await act(jobId, "cancel")).status).toBe(202);
    const refused = await create({ dedupeKey, idempotencyKey });
    expect(refused).toMatchObject({ status: 409, code: "dedupe_job_cancelling", retryAfter: "5" });
    await running.finish();
    const created = await create({ dedupeKey, idempotencyKey });
    expect(created).toMatchObject({ status: 202, deduplicated: false });
  });

  test("until started: a job that is being cancelled has given up its key and refuses nobody", async () => {
    const type = untilStarted.type;
    const dedupeKey = freshKey();
    const { jobId } = await create({ type, dedupeKey, end: "cancel" });
    const running = await startNext();
    expect((await act(jobId, "cancel")).status).toBe(202);
    expect(await create({ type, dedupeKey })).toMatchObject({ status: 202, deduplicated: false });
    await running.finish();
  });
});

describe("inside one batch", () => {
  const post = async (jobs: unknown[]) => {
    const response = await world.request("POST", "/api/jobs/batch", { body: { jobs } });
    const { jobs: items } = (await response.json()) as {
      jobs: { jobId: string; deduplicated: boolean }[];
    };
    return { status: response.status, items };
  };
  const keyed = (dedupeKey: string | undefined, more: object = {}) => ({
    type: untilFinished.type,
    payload: { end: "complete" },
    dedupeKey,
    ...more,
  });

  test("the first with a key creates, later ones get its job, also beside hits and other types", async () => {
    const [old, fresh] = [freshKey(), freshKey()];
    const [single] = ENTRIES;
    const active = await single?.create({ dedupeKey: old });
    const { items } = await post([
      keyed(fresh, { priority: 3 }),
      keyed(old),
      keyed(undefined),
      keyed(fresh, { priority: 7 }),
      keyed(fresh, { type: untilStarted.type }),
      keyed(old),
      keyed(undefined),
    ]);
    expect(items.map(({ deduplicated }) => deduplicated)).toEqual([
      ...[false, true, false, true, false, true, false],
    ]);
    expect(items[3]?.jobId).toBe(items[0]?.jobId);
    expect([items[1]?.jobId, items[5]?.jobId]).toEqual([active?.jobId, active?.jobId]);
    expect(await world.job(items[0]?.jobId ?? "")).toMatchObject({ priority: 3 });
    expect(new Set(items.map(({ jobId }) => jobId)).size).toBe(5);
  });

  test("one hit on a job that is being cancelled refuses the whole batch", async () => {
    const dedupeKey = freshKey();
    const active = await ENTRIES[0]?.create({ dedupeKey, end: "cancel" });
    const running = await startNext();
    await act(active?.jobId ?? "", "cancel");
    const count = async () => (await world.database.pg.query("select count(*) from jobs")).rows;
    const before = await count();
    expect((await post([keyed(freshKey()), keyed(dedupeKey), keyed(undefined)])).status).toBe(409);
    expect(await count()).toEqual(before);
    await running.finish();
    expect((await post([keyed(freshKey()), keyed(dedupeKey)])).status).toBe(202);
  });
});
