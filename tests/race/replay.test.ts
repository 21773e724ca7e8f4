import { describe, expect, test } from "vitest";
import { setUpRace } from "../support/race.js";
import {
  action,
  attemptOf,
  COMPLETED,
  cancelJob,
  deadLetter,
  expired,
  FATAL,
  finishAs,
  queued,
  redeliver,
  replayJob,
  running,
  SWEEP_TYPES,
} from "../support/race-jobs.js";
import { newTake } from "../support/store.js";

const race = setUpRace();
const BULK = { publishMax: 500, unpublishedTypes: [] };
const replayAll = (store: typeof race.store, options = {}) =>
  store.replayMany({ limit: 500, spreadSeconds: 0, ...options }, action(), BULK);

describe("replay and replay", () => {
  test.each([
    { end: "commit" as const, kind: "not_replayable" },
    { end: "rollback" as const, kind: "replayed" },
  ])(
    "of two replays of one job, the second waits for the first ($end) and is $kind",
    async ({ end, kind }) => {
      const { jobId } = await deadLetter(race);
      const held = await race.begin();
      await replayJob(held.store, jobId);
      const second = replayJob(race.store, jobId);
      await race.waiting(1);
      await held[end]();

      expect(await second).toMatchObject({ kind, job: { status: "queued" } });
      expect(await race.job(jobId)).toMatchObject({ status: "queued", trigger_seq: 2 });
      expect(await race.count("job_events where kind = 'replayed'")).toBe(1);
    },
  );

  test("a replay that waits while the job is replayed, claimed and finished does not undo that", async () => {
    const { jobId } = await deadLetter(race);
    const holder = await race.lockJobs(jobId);
    const late = replayJob(race.store, jobId);
    await race.waiting(1);
    await replayJob(holder.store, jobId);
    const attempt = attemptOf(await redeliver(holder.store, { jobId }, { seq: 2 }));
    await finishAs(holder.store, attempt, COMPLETED);
    await holder.commit();

    expect(await late).toMatchObject({ kind: "not_replayable", job: { status: "completed" } });
    expect(await race.job(jobId)).toMatchObject({ status: "completed", attempts: 2 });
  });

  test("a bulk replay leaves out the job that is being replayed at this moment", async () => {
    const [first, second] = [await deadLetter(race), await deadLetter(race)];
    const held = await race.begin();
    await replayJob(held.store, first.jobId);

    expect(await replayAll(race.store)).toMatchObject({ matched: 2, replayed: 1, skipped: 1 });
    await held.commit();

    expect(await race.job(first.jobId)).toMatchObject({ status: "queued", trigger_seq: 2 });
    expect(await race.job(second.jobId)).toMatchObject({ status: "queued", trigger_seq: 2 });
    expect(await race.count("job_events where kind = 'replayed'")).toBe(2);
  });

  test("six bulk replays at once replay each of 200 dead letters once", async () => {
    await race.database.pg.query(
      `insert into jobs (id, status, job_type, tenant, priority, attempts, max_attempts, created_at,
         updated_at, finished_at, last_error, payload_json, started_at, attempt_started_at)
       select gen_random_uuid(), 'dead_letter', 'test.script', 'acme', 0, 1, 3, now(), now(), now(),
         '{"code": "fatal"}', '{}', now(), now() from generate_series(1, 200)`,
    );
    const answers = await Promise.all(Array.from({ length: 6 }, () => replayAll(race.store)));

    expect(answers.reduce((sum, { replayed }) => sum + replayed, 0)).toBe(200);
    expect(await race.count("jobs where status = 'queued' and trigger_seq = 2")).toBe(200);
    expect(await race.count("job_events where kind = 'replayed'")).toBe(200);
  });
});

describe("replay and the attempt before it", () => {
  test("a late finish of the lost attempt does not touch the replayed job", async () => {
    const lost = await expired(race, { maxAttempts: 1 });
    await race.store.recoverLeases(SWEEP_TYPES, newTake());
    const held = await race.begin();
    await replayJob(held.store, lost.jobId);

    const finish = finishAs(race.store, lost, COMPLETED);
    await race.waiting(1);
    await held.commit();

    expect(await finish).toEqual({ kind: "lease_lost" });
    expect(await race.job(lost.jobId)).toMatchObject({ status: "queued", attempts: 1 });
    expect(await race.attempts(lost.jobId)).toMatchObject([{ late_outcome: "completed" }]);
  });

  test("a replay waits for the finish that makes the dead letter", async () => {
    const attempt = await running(race);
    const held = await race.begin();
    await finishAs(held.store, attempt, FATAL);
    const replayed = replayJob(race.store, attempt.jobId);
    await race.waiting(1);
    await held.commit();

    expect(await replayed).toMatchObject({ kind: "replayed", job: { attemptsLeft: 3 } });
  });

  test("a replay that waits for a finish that is rolled back is refused", async () => {
    const attempt = await running(race);
    const held = await race.begin();
    await finishAs(held.store, attempt, FATAL);
    const replayed = replayJob(race.store, attempt.jobId);
    await race.waiting(1);
    await held.rollback();

    expect(await replayed).toMatchObject({
      kind: "not_replayable",
      job: { status: "processing" },
    });
  });
});

describe("replay and sweep", () => {
  test("a replay waits for the sweep that makes the dead letter", async () => {
    const lost = await expired(race, { maxAttempts: 1 });
    const held = await race.begin();
    expect(await held.store.recoverLeases(SWEEP_TYPES, newTake())).toMatchObject({
      deadLettered: 1,
    });
    const replayed = replayJob(race.store, lost.jobId);
    await race.waiting(1);
    await held.commit();

    expect(await replayed).toMatchObject({ kind: "replayed", job: { status: "queued" } });
    expect(await race.attempts(lost.jobId)).toHaveLength(1);
  });

  test("a sweep does not publish again what is being replayed at this moment", async () => {
    const { jobId } = await deadLetter(race);
    const held = await race.begin();
    await replayJob(held.store, jobId);

    expect(await race.store.takeUnpublished(newTake())).toEqual([]);
    await held.commit();

    expect(await race.store.takeUnpublished(newTake())).toEqual([]);
    expect(await race.job(jobId)).toMatchObject({ trigger_seq: 2 });
  });

  test("a delivery of the old message runs the replayed job with a fresh budget, once", async () => {
    const { jobId } = await deadLetter(race, { maxAttempts: 1 });
    const held = await race.begin();
    await replayJob(held.store, jobId);
    expect((await redeliver(race.store, { jobId })).kind).toBe("noop");
    await held.commit();

    const outcomes = await Promise.all(
      [1, 2].map((seq) => redeliver(race.store, { jobId }, { seq })),
    );
    expect(outcomes.filter(({ kind }) => kind === "claimed")).toHaveLength(1);
    expect(await race.job(jobId)).toMatchObject({ attempts: 2, attempts_before_replay: 1 });
  });
});

describe("replay and cancel", () => {
  test("a cancel that waits for the replay cancels the job again", async () => {
    const { jobId } = await deadLetter(race);
    const held = await race.begin();
    await replayJob(held.store, jobId);
    const cancelled = cancelJob(race.store, jobId);
    await race.waiting(1);
    await held.commit();

    expect(await cancelled).toMatchObject({ kind: "cancelled" });
    expect(await race.job(jobId)).toMatchObject({ status: "cancelled", trigger_seq: 2 });
  });

  test("a replay that waits for the cancel of a waiting job replays it", async () => {
    const job = await queued(race);
    const held = await race.begin();
    await cancelJob(held.store, job.id);
    const replayed = replayJob(race.store, job.id);
    await race.waiting(1);
    await held.commit();

    expect(await replayed).toMatchObject({ kind: "replayed", wakeup: { seq: 2 } });
    expect(await race.job(job.id)).toMatchObject({ cancel_requested_at: null });
  });
});

describe("the messages of a bulk replay", () => {
  test("every job that it marks as published is given to its caller, to be published", async () => {
    // Slots are taken by key, times are given by age: here the two orders are opposite.
    for (const dedupeKey of ["d", "c", "b", "a"]) await deadLetter(race, { dedupeKey });
    const { wakeups } = await race.store.replayMany({ limit: 500, spreadSeconds: 0 }, action(), {
      publishMax: 2,
      unpublishedTypes: [],
    });
    const marked = await race.rows<{ id: string }>(
      "select id from jobs where triggered_at is not null order by id",
    );

    expect(marked).toHaveLength(2);
    expect(wakeups.map(({ jobId }) => jobId).sort()).toEqual(marked.map(({ id }) => id));
  });
});
