import { describe, expect, test } from "vitest";
import type { AttemptReport } from "../../src/core/attempt.js";
import { setUpRace } from "../support/race.js";
import {
  COMPLETED,
  cancelJob,
  expired,
  FATAL,
  finishAs,
  queued,
  RETRY,
  runJobNow,
  running,
  SNOOZE,
  SWEEP_TYPES,
} from "../support/race-jobs.js";
import { newTake } from "../support/store.js";

const race = setUpRace();

describe("a cancel that waits for a finish", () => {
  test.each<{ report: AttemptReport; kind: string; status: string }>([
    { report: COMPLETED, kind: "not_cancellable", status: "completed" },
    { report: FATAL, kind: "not_cancellable", status: "dead_letter" },
    { report: RETRY, kind: "cancelled", status: "cancelled" },
    { report: SNOOZE, kind: "cancelled", status: "cancelled" },
  ])(
    "$report.kind: answers $kind, and the job is $status for good",
    async ({ report, kind, status }) => {
      const attempt = await running(race);
      const held = await race.begin();
      await finishAs(held.store, attempt, report);
      const cancelled = cancelJob(race.store, attempt.jobId);
      await race.waiting(1);
      await held.commit();

      expect(await cancelled).toMatchObject({ kind, job: { status } });
      expect(await race.job(attempt.jobId)).toMatchObject({ status });
    },
  );

  test("a finish that is rolled back makes it a request to the attempt that runs on", async () => {
    const attempt = await running(race);
    const held = await race.begin();
    await finishAs(held.store, attempt, COMPLETED);
    const cancelled = cancelJob(race.store, attempt.jobId);
    await race.waiting(1);
    await held.rollback();

    expect(await cancelled).toMatchObject({ kind: "requested", job: { status: "processing" } });
    expect(await finishAs(race.store, attempt, RETRY)).toMatchObject({ status: "cancelled" });
  });
});

describe("a finish that waits for a cancel", () => {
  test.each<{ report: AttemptReport; status: string }>([
    { report: COMPLETED, status: "completed" },
    { report: FATAL, status: "cancelled" },
    { report: RETRY, status: "cancelled" },
    { report: SNOOZE, status: "cancelled" },
  ])("$report.kind: the job becomes $status", async ({ report, status }) => {
    const attempt = await running(race);
    const held = await race.begin();
    expect(await cancelJob(held.store, attempt.jobId)).toMatchObject({ kind: "requested" });
    const finish = finishAs(race.store, attempt, report);
    await race.waiting(1);
    await held.commit();

    expect(await finish).toMatchObject({ kind: "recorded", status, wakeup: null });
    expect(await race.job(attempt.jobId)).toMatchObject({ status, next_run_at: null });
  });

  test("a cancel that is rolled back does not stop the next attempt", async () => {
    const attempt = await running(race);
    const held = await race.begin();
    await cancelJob(held.store, attempt.jobId);
    const finish = finishAs(race.store, attempt, RETRY);
    await race.waiting(1);
    await held.rollback();

    expect(await finish).toMatchObject({ status: "failed", wakeup: { seq: 2 } });
  });
});

describe("a cancel and a sweep", () => {
  test("an expired lease that is being cancelled is skipped, and then ended as cancelled", async () => {
    const lost = await expired(race);
    const held = await race.begin();
    await cancelJob(held.store, lost.jobId);

    expect(await race.store.recoverLeases(SWEEP_TYPES, newTake())).toMatchObject({ cancelled: 0 });
    await held.commit();

    expect(await race.store.recoverLeases(SWEEP_TYPES, newTake())).toMatchObject({ cancelled: 1 });
    expect(await race.job(lost.jobId)).toMatchObject({ status: "cancelled" });
  });

  test("a cancel that waits for the sweep cancels the job that waits for its retry", async () => {
    const lost = await expired(race);
    const held = await race.begin();
    await held.store.recoverLeases(SWEEP_TYPES, newTake());
    const cancelled = cancelJob(race.store, lost.jobId);
    await race.waiting(1);
    await held.commit();

    expect(await cancelled).toMatchObject({ kind: "cancelled" });
  });
});

describe("a cancel and run-now", () => {
  test.each([
    { end: "commit" as const, kind: "not_waiting", status: "cancelled", seq: 1 },
    { end: "rollback" as const, kind: "moved", status: "queued", seq: 2 },
  ])(
    "run-now waits for the cancel ($end) and answers $kind",
    async ({ end, kind, status, seq }) => {
      const job = await queued(race, { delaySeconds: 3600 });
      const held = await race.begin();
      await cancelJob(held.store, job.id);
      const moved = runJobNow(race.store, job.id);
      await race.waiting(1);
      await held[end]();

      expect(await moved).toMatchObject({ kind, job: { status } });
      expect(await race.job(job.id)).toMatchObject({ status, trigger_seq: seq });
    },
  );

  test("a cancel that waits for run-now cancels the job", async () => {
    const job = await queued(race, { delaySeconds: 3600 });
    const held = await race.begin();
    await runJobNow(held.store, job.id);
    const cancelled = cancelJob(race.store, job.id);
    await race.waiting(1);
    await held.commit();

    expect(await cancelled).toMatchObject({ kind: "cancelled" });
    expect(await race.job(job.id)).toMatchObject({ status: "cancelled", next_run_at: null });
  });

  test("of two run-nows for one job, the one that finds it due is refused", async () => {
    const job = await queued(race, { delaySeconds: 3600 });
    await runJobNow(race.store, job.id);

    expect(await runJobNow(race.store, job.id)).toMatchObject({ kind: "not_waiting" });
    expect(await race.job(job.id)).toMatchObject({ trigger_seq: 2 });
  });
});

describe("a cancel that is repeated", () => {
  test.each([
    { state: "queued", kind: "cancelled", prepare: async () => (await queued(race)).id },
    { state: "processing", kind: "requested", prepare: async () => (await running(race)).jobId },
  ])(
    "after its answer was lost, for a $state job, answers $kind and is noted once",
    async ({ kind, prepare }) => {
      const jobId = await prepare();
      race.database.neon.setFault({ action: "lose-answer", nth: 1 });

      expect(await cancelJob(race.store, jobId)).toMatchObject({ kind });
      expect(await race.count("job_events where job_id = $1", [jobId])).toBe(1);
    },
  );

  test("a second person's cancel of a running job is a request of its own", async () => {
    const { jobId } = await running(race);
    const held = await race.begin();
    await cancelJob(held.store, jobId);
    const second = cancelJob(race.store, jobId);
    await race.waiting(1);
    await held.commit();

    expect(await second).toMatchObject({ kind: "requested" });
    expect(await race.count("job_events where kind = 'cancel_requested'")).toBe(2);
  });
});
