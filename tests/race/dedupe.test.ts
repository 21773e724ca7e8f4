import { describe, expect, test } from "vitest";
import { setUpRace } from "../support/race.js";
import {
  action,
  attemptOf,
  COMPLETED,
  cancelJob,
  deadLetter,
  expired,
  finishAs,
  RETRY,
  redeliver,
  replayJob,
  running,
  SWEEP_TYPES,
} from "../support/race-jobs.js";
import { answeredJobs, createCall, send } from "../support/race-requests.js";
import { newTake } from "../support/store.js";

const race = setUpRace();
const KEY = { dedupeKey: "invoice:1" };
const activeJobs = (dedupeKey = KEY.dedupeKey) =>
  race.count("jobs where dedupe_key = $1 and finished_at is null", [dedupeKey]);
const create = (store = race.store, jobs: Parameters<typeof createCall>[0] = [KEY]) =>
  send(store, createCall(jobs));

describe("creates of one dedupe key", () => {
  test.each([
    { end: "commit" as const, deduplicated: true },
    { end: "rollback" as const, deduplicated: false },
  ])(
    "the second waits for the first ($end), and hears the truth",
    async ({ end, deduplicated }) => {
      const held = await race.begin();
      const first = answeredJobs(await create(held.store));
      const second = create();
      await race.waiting(1);
      await held[end]();

      const [answer] = answeredJobs(await second);
      expect(answer?.deduplicated).toBe(deduplicated);
      expect(answer?.jobId === first[0]?.jobId).toBe(deduplicated);
      expect(await activeJobs()).toBe(1);
    },
  );

  test("eight at once make one job, and all hear of it", async () => {
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => create()));
    const answers = outcomes.flatMap(answeredJobs);

    expect(answers.filter(({ deduplicated }) => !deduplicated)).toHaveLength(1);
    expect(new Set(answers.map(({ jobId }) => jobId)).size).toBe(1);
  });

  test("crossed batches that overlap neither deadlock nor fail", async () => {
    // Each batch is stopped behind a key of its own, when it already holds one that both want.
    const holders = [await race.begin(), await race.begin()] as const;
    await create(holders[0].store, [{ dedupeKey: "c-stop" }]);
    await create(holders[1].store, [{ dedupeKey: "d-stop" }]);
    const crossed = ["a", "b"].map((dedupeKey) => ({ dedupeKey }));
    race.database.neon.requests = 0;
    const batches = [
      create(race.store, [...crossed, { dedupeKey: "c-stop" }]),
      create(race.store, [{ dedupeKey: "d-stop" }, ...crossed.toReversed()]),
    ];
    await race.waiting(2);
    for (const holder of holders) await holder.commit();
    const answers = await Promise.all(batches);

    expect(answers.flatMap(answeredJobs).filter(({ deduplicated }) => !deduplicated)).toHaveLength(
      2,
    );
    // A deadlock would have been repeated by the client.
    expect(race.database.neon.requests).toBe(2);
    expect([await activeJobs("a"), await activeJobs("b")]).toEqual([1, 1]);
  });
});

describe("a create and the end of the active job", () => {
  test.each([
    { end: "commit" as const, deduplicated: false },
    { end: "rollback" as const, deduplicated: true },
  ])(
    "it waits for the finish ($end): deduplicated is $deduplicated",
    async ({ end, deduplicated }) => {
      const attempt = await running(race, KEY);
      const held = await race.begin();
      await finishAs(held.store, attempt, COMPLETED);
      const created = create();
      await race.waiting(1);
      await held[end]();

      const [answer] = answeredJobs(await created);
      expect(answer?.deduplicated).toBe(deduplicated);
      expect(answer?.jobId === attempt.jobId).toBe(deduplicated);
      expect(await activeJobs()).toBe(1);
    },
  );

  test("a hit holds the active job until its answer is committed: the finish comes after", async () => {
    const attempt = await running(race, KEY);
    const held = await race.begin();
    expect(answeredJobs(await create(held.store))).toMatchObject([{ jobId: attempt.jobId }]);
    const finish = finishAs(race.store, attempt, COMPLETED);
    await race.waiting(1);
    await held.commit();

    expect(await finish).toMatchObject({ kind: "recorded", status: "completed" });
  });

  test("a finish that reschedules keeps the key: the create that waited hits the job", async () => {
    const attempt = await running(race, KEY);
    const held = await race.begin();
    await finishAs(held.store, attempt, RETRY);
    const created = create();
    await race.waiting(1);
    await held.commit();

    expect(answeredJobs(await created)).toMatchObject([{ jobId: attempt.jobId, status: "failed" }]);
  });

  test("a key that is freed at the start goes to the create that waited for the claim", async () => {
    const started = { ...KEY, dedupeUntil: "started" as const };
    const [job] = answeredJobs(await create(race.store, [started]));
    const jobId = job?.jobId ?? "";
    const held = await race.begin();
    const attempt = attemptOf(await redeliver(held.store, { jobId }));
    const created = create(race.store, [started]);
    await race.waiting(1);
    await held.commit();

    expect(answeredJobs(await created)).toMatchObject([{ deduplicated: false }]);
    // The retry of the first does not take the key back, so nothing collides.
    expect(await finishAs(race.store, attempt, RETRY)).toMatchObject({ status: "failed" });
  });

  test("a sweep that gives the lease up keeps the key", async () => {
    const lost = await expired(race, KEY);
    const held = await race.begin();
    await held.store.recoverLeases(SWEEP_TYPES, newTake());
    const created = create();
    await race.waiting(1);
    await held.commit();

    expect(answeredJobs(await created)).toMatchObject([{ jobId: lost.jobId, status: "failed" }]);
  });
});

describe("a create and a cancel of the active job", () => {
  const batch = [{ dedupeKey: "before" }, KEY, {}];

  test("it waits for the request, is refused, and nothing of it is written", async () => {
    const attempt = await running(race, KEY);
    const held = await race.begin();
    await cancelJob(held.store, attempt.jobId);
    const records = await race.count("idempotency_records");
    const created = create(race.store, batch);
    await race.waiting(1);
    await held.commit();

    expect(await created).toEqual({ kind: "dedupe_job_cancelling" });
    expect(await race.count("jobs")).toBe(1);
    expect(await race.count("idempotency_records")).toBe(records);
  });

  test("when the request is rolled back, it hits the running job", async () => {
    const attempt = await running(race, KEY);
    const held = await race.begin();
    await cancelJob(held.store, attempt.jobId);
    const created = create(race.store, batch);
    await race.waiting(1);
    await held.rollback();

    expect(answeredJobs(await created)).toMatchObject([
      { deduplicated: false },
      { deduplicated: true, jobId: attempt.jobId },
      { deduplicated: false },
    ]);
  });

  test("a refused create leaves its key free: the same request is accepted after the job's end", async () => {
    const attempt = await running(race, KEY);
    await cancelJob(race.store, attempt.jobId);
    const call = createCall([KEY]);
    expect(await send(race.store, call)).toEqual({ kind: "dedupe_job_cancelling" });
    await finishAs(race.store, attempt, RETRY);

    expect(answeredJobs(await send(race.store, call))).toMatchObject([{ deduplicated: false }]);
  });

  test("it waits for the cancel of a waiting job, and makes a new one", async () => {
    const [job] = answeredJobs(await create());
    const held = await race.begin();
    await cancelJob(held.store, job?.jobId ?? "");
    const created = create();
    await race.waiting(1);
    await held.commit();

    expect(answeredJobs(await created)).toMatchObject([{ deduplicated: false }]);
  });
});

describe("a create and a replay of the same key", () => {
  test.each([
    { end: "commit" as const, kind: "dedupe_conflict" },
    { end: "rollback" as const, kind: "replayed" },
  ])("the replay waits for the create ($end) and is $kind", async ({ end, kind }) => {
    const { jobId } = await deadLetter(race, KEY);
    const held = await race.begin();
    const created = answeredJobs(await create(held.store));
    const replayed = replayJob(race.store, jobId);
    await race.waiting(1);
    await held[end]();

    const expected = kind === "replayed" ? { kind } : { kind, activeJobId: created[0]?.jobId };
    expect(await replayed).toMatchObject(expected);
    expect(await activeJobs()).toBe(1);
  });

  test.each([
    { end: "commit" as const, deduplicated: true },
    { end: "rollback" as const, deduplicated: false },
  ])(
    "the create waits for the replay ($end): deduplicated is $deduplicated",
    async ({ end, deduplicated }) => {
      const { jobId } = await deadLetter(race, KEY);
      const held = await race.begin();
      expect(await replayJob(held.store, jobId)).toMatchObject({ kind: "replayed" });
      const created = create();
      await race.waiting(1);
      await held[end]();

      expect(answeredJobs(await created)).toMatchObject([{ deduplicated }]);
      expect(await activeJobs()).toBe(1);
    },
  );
});

describe("creates and a bulk replay of the same keys", () => {
  const replayAll = (store = race.store) =>
    store.replayMany({ limit: 100, spreadSeconds: 0 }, action(), {
      publishMax: 100,
      unpublishedTypes: [],
    });

  test("the bulk replay waits for a create, and leaves its key out", async () => {
    await deadLetter(race, { dedupeKey: "a" });
    await deadLetter(race, { dedupeKey: "b" });
    const held = await race.begin();
    await create(held.store, [{ dedupeKey: "a" }]);
    const replayed = replayAll();
    await race.waiting(1);
    await held.commit();

    expect(await replayed).toMatchObject({ matched: 2, replayed: 1, skipped: 1 });
    expect([await activeJobs("a"), await activeJobs("b")]).toEqual([1, 1]);
  });

  test("it meets two creates that are under way, and still gives an answer", async () => {
    await deadLetter(race, { dedupeKey: "a" });
    await deadLetter(race, { dedupeKey: "b" });
    const holders = [await race.begin(), await race.begin()] as const;
    await create(holders[0].store, [{ dedupeKey: "a" }]);
    await create(holders[1].store, [{ dedupeKey: "b" }]);
    race.database.neon.requests = 0;
    const replayed = replayAll();
    await race.waiting(1);
    await holders[0].commit();
    await race.until(() => race.database.neon.requests, 2);
    await race.waiting(1);
    await holders[1].commit();

    expect(await replayed).toMatchObject({ matched: 2, replayed: 0, skipped: 2 });
  });

  test("a batch waits for the bulk replay, and hits what it replayed", async () => {
    const lost = [
      await deadLetter(race, { dedupeKey: "b" }),
      await deadLetter(race, { dedupeKey: "a" }),
    ];
    const held = await race.begin();
    expect(await replayAll(held.store)).toMatchObject({ replayed: 2 });
    const created = create(race.store, [{ dedupeKey: "a" }, { dedupeKey: "b" }]);
    await race.waiting(1);
    await held.commit();

    expect(answeredJobs(await created).map(({ jobId }) => jobId)).toEqual(
      lost.toReversed().map(({ jobId }) => jobId),
    );
  });

  test("of several dead letters with one key, one is replayed", async () => {
    for (let n = 0; n < 3; n += 1) await deadLetter(race, KEY);

    expect(await replayAll()).toMatchObject({ matched: 3, replayed: 1, skipped: 2 });
    expect(await activeJobs()).toBe(1);
  });
});
