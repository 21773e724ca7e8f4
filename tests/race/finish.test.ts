import { describe, expect, test } from "vitest";
import { setUpRace } from "../support/race.js";
import {
  attemptOf,
  COMPLETED,
  cancelJob,
  expire,
  expired,
  FATAL,
  finishAs,
  RETRY,
  redeliver,
  running,
  SNOOZE,
  SWEEP_TYPES,
} from "../support/race-jobs.js";
import { newTake } from "../support/store.js";

const race = setUpRace();

describe("finish and sweep", () => {
  test("a finish under way is left alone by the sweep, and stands", async () => {
    const attempt = await expired(race);
    const held = await race.begin();
    await finishAs(held.store, attempt, COMPLETED);

    expect(await race.store.recoverLeases(SWEEP_TYPES, newTake())).toMatchObject({ failed: 0 });
    await held.commit();

    expect(await race.store.recoverLeases(SWEEP_TYPES, newTake())).toMatchObject({ failed: 0 });
    expect(await race.job(attempt.jobId)).toMatchObject({ status: "completed" });
    expect(await race.attempts(attempt.jobId)).toMatchObject([{ outcome: "completed" }]);
  });

  test("a finish that is rolled back leaves the lease to the sweep", async () => {
    const attempt = await expired(race);
    const held = await race.begin();
    await finishAs(held.store, attempt, COMPLETED);
    await held.rollback();

    expect(await race.store.recoverLeases(SWEEP_TYPES, newTake())).toMatchObject({ failed: 1 });
    expect(await race.attempts(attempt.jobId)).toMatchObject([{ outcome: "lease_expired" }]);
  });

  test("a finish that waits for the sweep comes too late: its result is kept, never applied", async () => {
    const attempt = await expired(race);
    const held = await race.begin();
    await held.store.recoverLeases(SWEEP_TYPES, newTake());
    const finish = finishAs(race.store, attempt, COMPLETED);
    await race.waiting(1);
    await held.commit();

    expect(await finish).toEqual({ kind: "lease_lost" });
    expect(await race.job(attempt.jobId)).toMatchObject({ status: "failed", result_json: null });
    expect(await race.attempts(attempt.jobId)).toMatchObject([
      { outcome: "lease_expired", late_outcome: "completed", late_detail: { sent: true } },
    ]);
  });

  test("a finish that waits for a sweep that is rolled back is recorded", async () => {
    const attempt = await expired(race);
    const held = await race.begin();
    await held.store.recoverLeases(SWEEP_TYPES, newTake());
    const finish = finishAs(race.store, attempt, COMPLETED);
    await race.waiting(1);
    await held.rollback();

    expect(await finish).toMatchObject({ kind: "recorded", status: "completed" });
    expect(await race.attempts(attempt.jobId)).toMatchObject([
      { outcome: "completed", late_outcome: null },
    ]);
  });
});

describe("finish and takeover", () => {
  test("a delivery that arrives after the lease was taken over cannot finish the newer attempt", async () => {
    const lost = await expired(race);
    const takeover = attemptOf(await redeliver(race.store, lost));

    expect(await finishAs(race.store, lost, COMPLETED)).toEqual({ kind: "lease_lost" });
    expect(await race.job(lost.jobId)).toMatchObject({
      status: "processing",
      lock_token: takeover.lockToken,
    });
    expect(await finishAs(race.store, takeover, FATAL)).toMatchObject({ status: "dead_letter" });
    expect(await race.attempts(lost.jobId)).toMatchObject([
      { number: 1, outcome: "lease_expired", late_outcome: "completed" },
      { number: 2, outcome: "dead_letter", late_outcome: null },
    ]);
  });

  test.each([
    { end: "commit" as const, kind: "lease_lost", status: "processing", late: "completed" },
    { end: "rollback" as const, kind: "recorded", status: "completed", late: null },
  ])(
    "a finish waits for the takeover ($end) and is applied only to its own lease",
    async ({ end, kind, status, late }) => {
      const lost = await expired(race);
      const held = await race.begin();
      await redeliver(held.store, lost);
      const finish = finishAs(race.store, lost, COMPLETED);
      await race.waiting(1);
      await held[end]();

      expect(await finish).toMatchObject({ kind });
      expect(await race.job(lost.jobId)).toMatchObject({ status });
      expect(await race.attempts(lost.jobId)).toMatchObject([{ number: 1, late_outcome: late }]);
    },
  );

  test("a lease that ran out but was taken by nobody is still its holder's to finish", async () => {
    const attempt = await expired(race);
    const held = await race.begin();
    await finishAs(held.store, attempt, COMPLETED);

    expect(await redeliver(race.store, attempt)).toEqual({ kind: "locked", named: true });
    await held.commit();

    expect(await redeliver(race.store, attempt)).toEqual({ kind: "noop", reason: "finished" });
    expect(await race.job(attempt.jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("of several late results of one attempt, the first is kept", async () => {
    const lost = await expired(race);
    await redeliver(race.store, lost);
    await finishAs(race.store, lost, COMPLETED);
    await finishAs(race.store, lost, FATAL);

    expect(await race.attempts(lost.jobId)).toMatchObject([{ late_outcome: "completed" }]);
  });
});

describe("a finish that is repeated", () => {
  const reports = [
    { report: COMPLETED, status: "completed", published: false },
    { report: RETRY, status: "failed", published: true },
    { report: FATAL, status: "dead_letter", published: false },
    { report: SNOOZE, status: "queued", published: true },
  ];

  test.each(reports)(
    "after its answer was lost, $report.kind answers $status and is recorded once",
    async ({ report, status, published }) => {
      const attempt = await running(race);
      race.database.neon.setFault({ action: "lose-answer", nth: 1 });
      const outcome = await finishAs(race.store, attempt, report);

      expect(outcome).toMatchObject({ kind: "recorded", status });
      expect(outcome.kind === "recorded" && outcome.wakeup !== null).toBe(published);
      expect(await race.attempts(attempt.jobId)).toHaveLength(1);
      expect(await race.job(attempt.jobId)).toMatchObject({
        status,
        trigger_seq: published ? 2 : 1,
        snoozes: report.kind === "snooze" ? 1 : 0,
      });
    },
  );

  test.each(reports)(
    "$report.kind, while its first try is under way, waits and is recorded once",
    async ({ report, status, published }) => {
      const attempt = await running(race);
      const first = await race.begin();
      await finishAs(first.store, attempt, report);
      const second = finishAs(race.store, attempt, report);
      await race.waiting(1);
      await first.commit();

      expect(await second).toMatchObject({ kind: "recorded", status });
      expect(await race.attempts(attempt.jobId)).toMatchObject([{ late_outcome: null }]);
      expect(await race.job(attempt.jobId)).toMatchObject({
        status,
        trigger_seq: published ? 2 : 1,
      });
    },
  );

  test("a repeat that waited for its first try brings the message that is to be published", async () => {
    const attempt = await running(race);
    const first = await race.begin();
    await finishAs(first.store, attempt, RETRY);
    const second = finishAs(race.store, attempt, RETRY);
    await race.waiting(1);
    await first.commit();

    expect(await second).toMatchObject({ status: "failed", wakeup: { seq: 2 } });
  });

  test("when its first try is rolled back, the repeat records the outcome", async () => {
    const attempt = await running(race);
    const first = await race.begin();
    await finishAs(first.store, attempt, COMPLETED);
    const second = finishAs(race.store, attempt, COMPLETED);
    await race.waiting(1);
    await first.rollback();

    expect(await second).toMatchObject({ kind: "recorded", status: "completed" });
    expect(await race.attempts(attempt.jobId)).toHaveLength(1);
  });

  test("after the job has gone on, the repeat still answers with what it recorded", async () => {
    const attempt = await running(race);
    await finishAs(race.store, attempt, RETRY);
    await race.database.advance(31);
    const next = attemptOf(await redeliver(race.store, attempt, { seq: 2 }));

    expect(await finishAs(race.store, attempt, RETRY)).toMatchObject({
      kind: "recorded",
      status: "failed",
      wakeup: null,
    });
    expect(await race.job(attempt.jobId)).toMatchObject({ lock_token: next.lockToken });
  });
});

describe("heartbeats", () => {
  test.each([
    { end: "commit" as const, kind: "lease_lost" },
    { end: "rollback" as const, kind: "extended" },
  ])("a heartbeat that waits for a takeover ($end) gives: $kind", async ({ end, kind }) => {
    const lost = await expired(race);
    const held = await race.begin();
    const takeover = attemptOf(await redeliver(held.store, lost));
    const heartbeat = race.store.heartbeat({ ...lost, leaseSeconds: 900 }, { step: 7 });
    await race.waiting(1);
    await held[end]();

    expect(await heartbeat).toMatchObject({ kind });
    expect(await race.job(lost.jobId)).toMatchObject(
      kind === "extended"
        ? { lock_token: lost.lockToken, progress_json: { step: 7 } }
        : { lock_token: takeover.lockToken, progress_json: null },
    );
  });

  test("a lease that a heartbeat extends at this moment is not taken over", async () => {
    const attempt = await expired(race);
    const held = await race.begin();
    await held.store.heartbeat({ ...attempt, leaseSeconds: 900 }, undefined);

    expect(await redeliver(race.store, attempt)).toEqual({ kind: "locked", named: true });
    expect(await race.store.recoverLeases(SWEEP_TYPES, newTake())).toMatchObject({ failed: 0 });
    await held.commit();

    expect(await redeliver(race.store, attempt)).toEqual({ kind: "noop", reason: "running" });
    expect(await race.store.recoverLeases(SWEEP_TYPES, newTake())).toMatchObject({ failed: 0 });
  });

  test("a heartbeat that arrives after the finish changes nothing", async () => {
    const attempt = await running(race);
    const held = await race.begin();
    await finishAs(held.store, attempt, RETRY);
    const heartbeat = race.store.heartbeat(attempt, { step: 7 });
    await race.waiting(1);
    await held.commit();

    expect(await heartbeat).toEqual({ kind: "lease_lost" });
    expect(await race.job(attempt.jobId)).toMatchObject({ status: "failed", progress_json: null });
  });

  test("a heartbeat that waits for a cancel brings it", async () => {
    const attempt = await running(race);
    const held = await race.begin();
    await cancelJob(held.store, attempt.jobId);
    const heartbeat = race.store.heartbeat(attempt, undefined);
    await race.waiting(1);
    await held.commit();

    expect(await heartbeat).toEqual({ kind: "extended", cancelRequested: true });
  });

  test("a heartbeat never shortens a lease", async () => {
    const attempt = await running(race);
    const before = (await race.job(attempt.jobId)).lock_until;
    await race.store.heartbeat({ ...attempt, leaseSeconds: 5 }, undefined);

    expect((await race.job(attempt.jobId)).lock_until).toEqual(before);
    await expire(race);
    await race.store.heartbeat({ ...attempt, leaseSeconds: 5 }, undefined);
    expect(await redeliver(race.store, attempt)).toEqual({ kind: "noop", reason: "running" });
  });
});
