import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { setUpRace } from "../support/race.js";
import {
  action,
  attemptOf,
  COMPLETED,
  cancelJob,
  expire,
  finishAs,
  queued,
  SWEEP_TYPES,
  TYPE,
} from "../support/race-jobs.js";
import { claimFor, createJobs, newJob, newTake } from "../support/store.js";

const race = setUpRace();
const takeOne = (store = race.store, lockToken: string = randomUUID()) =>
  store.claimDue(SWEEP_TYPES, lockToken);

describe("a sweep or worker that runs jobs itself", () => {
  test("leaves out the job whose delivery claims it at this moment", async () => {
    const [job, other] = [await queued(race), await queued(race)];
    const held = await race.begin();
    await claimFor(held.store, job);

    expect(await takeOne()).toMatchObject({ jobId: other.id, attempt: 1 });
    expect(await takeOne()).toBeNull();
    await held.rollback();

    expect(await takeOne()).toMatchObject({ jobId: job.id, attempt: 1 });
  });

  test("and a delivery for the job that it takes: the delivery hears that it is locked", async () => {
    const job = await queued(race);
    const held = await race.begin();
    expect(await takeOne(held.store)).toMatchObject({ jobId: job.id });

    expect(await claimFor(race.store, job)).toEqual({ kind: "locked", named: true });
    await held.commit();

    expect(await claimFor(race.store, job)).toEqual({ kind: "noop", reason: "running" });
    expect(await race.job(job.id)).toMatchObject({ attempts: 1, claimed_by_message: null });
  });

  test("beside three others and a delivery for every job: each job is claimed once", async () => {
    const jobs = Array.from({ length: 60 }, () => newJob({ type: TYPE }));
    await createJobs(race.direct, jobs);
    const claimed: string[] = [];
    const worker = async () => {
      for (;;) {
        const attempt = await takeOne();
        if (!attempt) return;
        claimed.push(attempt.jobId);
      }
    };
    const deliveries = jobs.map(async (job) => {
      const outcome = await claimFor(race.store, job);
      if (outcome.kind === "claimed") claimed.push(outcome.attempt.jobId);
    });
    await Promise.all([...deliveries, ...Array.from({ length: 4 }, worker)]);

    expect(claimed).toHaveLength(60);
    expect(new Set(claimed).size).toBe(60);
    expect(await race.count("jobs where status = 'processing' and attempts = 1")).toBe(60);
  });

  test("leaves out a job that is being cancelled", async () => {
    const job = await queued(race);
    const held = await race.begin();
    await cancelJob(held.store, job.id);

    expect(await takeOne()).toBeNull();
    await held.commit();
    expect(await takeOne()).toBeNull();
  });

  test("takes nothing of a type once its pause is committed", async () => {
    await queued(race);
    await queued(race);
    const held = await race.begin();
    await held.store.setTypePaused(TYPE, true, action());

    expect(await takeOne()).not.toBeNull();
    await held.commit();
    expect(await takeOne()).toBeNull();
  });

  test("whose answer was lost finds the attempt that it started", async () => {
    await queued(race);
    await queued(race);
    race.database.neon.setFault({ action: "lose-answer", nth: 1 });

    expect(await takeOne()).toMatchObject({ attempt: 1 });
    expect(await race.count("jobs where attempts = 1")).toBe(1);
  });

  test.each([
    { end: "commit" as const, jobs: 1 },
    { end: "rollback" as const, jobs: 1 },
  ])(
    "and repeats itself while its first try is under way ($end) has one attempt",
    async ({ end, jobs }) => {
      await queued(race);
      await queued(race);
      const lockToken = randomUUID();
      const first = await race.begin();
      const tried = await takeOne(first.store, lockToken);
      const second = takeOne(race.store, lockToken);
      await race.waiting(1);
      await first[end]();

      expect((await second)?.jobId === tried?.jobId).toBe(end === "commit");
      expect(await race.count("jobs where attempts = 1")).toBe(jobs);
    },
  );
});

test("a token whose attempt was lost and recorded does not start another attempt of that job", async () => {
  await queued(race);
  const lockToken = randomUUID();
  const lost = await takeOne(race.direct, lockToken);
  await expire(race);
  await race.store.recoverLeases(SWEEP_TYPES, newTake());
  await race.database.advance(31);
  // The repeat of the first call, which was under way for longer than the lease.
  const again = await takeOne(race.store, lockToken);
  if (again) await finishAs(race.store, again, COMPLETED);

  const { attempts } = await race.job(lost?.jobId ?? "");
  expect(await race.attempts(lost?.jobId ?? "")).toHaveLength(attempts);
});

test("a job of higher priority that is locked does not keep the others from being run", async () => {
  const urgent = await queued(race, { priority: 9 });
  const job = await queued(race);
  const holder = await race.lockJobs(urgent.id);

  expect(attemptOf(await claimFor(race.store, job)).jobId).toBe(job.id);
  expect(await takeOne()).toBeNull();
  await holder.rollback();
  expect(await takeOne()).toMatchObject({ jobId: urgent.id });
});
