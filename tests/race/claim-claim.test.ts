import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { setUpRace } from "../support/race.js";
import {
  attemptOf,
  expire,
  expired,
  finishAs,
  queued,
  RETRY,
  redeliver,
} from "../support/race-jobs.js";
import { claimFor } from "../support/store.js";

const race = setUpRace();

describe("two messages for one job", () => {
  test("a delivery that meets the claim of another hears that the job is locked, then that it runs", async () => {
    const job = await queued(race);
    const first = await race.begin();
    const attempt = attemptOf(await claimFor(first.store, job));

    expect(await claimFor(race.store, job)).toEqual({ kind: "locked", named: true });
    await first.commit();

    expect(await claimFor(race.store, job)).toEqual({ kind: "noop", reason: "running" });
    expect(await race.job(job.id)).toMatchObject({ attempts: 1, lock_token: attempt.lockToken });
  });

  test("a claim that is rolled back leaves the job to the next delivery, as its first attempt", async () => {
    const job = await queued(race);
    const first = await race.begin();
    await claimFor(first.store, job);
    await first.rollback();

    expect(attemptOf(await claimFor(race.store, job)).attempt).toBe(1);
    expect(await race.job(job.id)).toMatchObject({ attempts: 1, status: "processing" });
  });

  test("a delivery whose job is locked runs another due job of the type instead", async () => {
    const [job, other] = [await queued(race), await queued(race)];
    const first = await race.begin();
    await claimFor(first.store, job);

    expect(attemptOf(await claimFor(race.store, job)).jobId).toBe(other.id);
    await first.commit();

    expect(await race.count("jobs where status = 'processing' and attempts = 1")).toBe(2);
  });

  test("eight deliveries at once start one attempt", async () => {
    const job = await queued(race);
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => claimFor(race.store, job)));

    expect(outcomes.filter(({ kind }) => kind === "claimed")).toHaveLength(1);
    expect(await race.job(job.id)).toMatchObject({ attempts: 1 });
  });

  test("of two takeovers of an expired lease, one starts the next attempt", async () => {
    const lost = await expired(race);
    const first = await race.begin();
    const takeover = attemptOf(await redeliver(first.store, lost));

    expect(await redeliver(race.store, lost)).toEqual({ kind: "locked", named: true });
    await first.commit();

    expect(await redeliver(race.store, lost)).toEqual({ kind: "noop", reason: "running" });
    expect(takeover.attempt).toBe(2);
    expect(await race.attempts(lost.jobId)).toMatchObject([
      { number: 1, lock_token: lost.lockToken, outcome: "lease_expired" },
    ]);
  });
});

describe("one message twice", () => {
  test("the second delivery of a message is told that its first one runs", async () => {
    const job = await queued(race);
    await claimFor(race.store, job, { messageId: "msg_1" });

    expect(await claimFor(race.store, job, { messageId: "msg_1" })).toMatchObject({
      kind: "running_own",
    });
    expect(await race.job(job.id)).toMatchObject({ attempts: 1 });
  });

  test("a redelivery that overtakes its own uncommitted claim does not run the job again", async () => {
    const job = await queued(race);
    const first = await race.begin();
    await claimFor(first.store, job, { messageId: "msg_1" });

    expect(await claimFor(race.store, job, { messageId: "msg_1" })).toEqual({
      kind: "locked",
      named: true,
    });
    await first.commit();

    expect(await claimFor(race.store, job, { messageId: "msg_1" })).toMatchObject({
      kind: "running_own",
    });
  });

  test("two redeliveries after a crash start one attempt: the second waits and finds it running", async () => {
    const lost = await expired(race, { messageId: "msg_1" });
    const first = await race.begin();
    const takeover = attemptOf(await redeliver(first.store, lost, { messageId: "msg_1" }));
    const second = redeliver(race.store, lost, { messageId: "msg_1" });
    await race.waiting(1);
    await first.commit();

    expect(await second).toMatchObject({ kind: "running_own" });
    expect(await race.job(lost.jobId)).toMatchObject({
      attempts: 2,
      lock_token: takeover.lockToken,
    });
    expect(await race.attempts(lost.jobId)).toHaveLength(1);
  });

  test("when the first redelivery after a crash is rolled back, the second takes the job over", async () => {
    const lost = await expired(race, { messageId: "msg_1" });
    const first = await race.begin();
    await redeliver(first.store, lost, { messageId: "msg_1" });
    const second = redeliver(race.store, lost, { messageId: "msg_1" });
    await race.waiting(1);
    await first.rollback();

    expect(attemptOf(await second).attempt).toBe(2);
    expect(await race.attempts(lost.jobId)).toHaveLength(1);
  });

  test("a redelivery that waits while another message takes its job over starts no attempt", async () => {
    const lost = await expired(race, { messageId: "msg_1" });
    const rival = await race.begin();
    const takeover = attemptOf(await redeliver(rival.store, lost, { messageId: "msg_2" }));
    const redelivery = redeliver(race.store, lost, { messageId: "msg_1" });
    await race.waiting(1);
    await rival.commit();

    expect((await redelivery).kind).not.toBe("claimed");
    expect(await race.job(lost.jobId)).toMatchObject({ lock_token: takeover.lockToken });
  });
});

describe("a message that ran another job than it named", () => {
  async function displaced() {
    const named = await queued(race);
    const urgent = await queued(race, { priority: 9 });
    const attempt = attemptOf(await claimFor(race.store, named, { messageId: "msg_1" }));
    expect(attempt.jobId).toBe(urgent.id);
    return { named, attempt };
  }

  test("its redelivery meets the job that it ran, and leaves the named one alone", async () => {
    const { named } = await displaced();

    expect(await claimFor(race.store, named, { messageId: "msg_1" })).toMatchObject({
      kind: "running_own",
    });
    expect(await race.job(named.id)).toMatchObject({ status: "queued", attempts: 0 });
  });

  test("its redelivery after a crash takes over the job that it ran, not the one that it names", async () => {
    const { named, attempt } = await displaced();
    await expire(race);

    const takeover = attemptOf(await claimFor(race.store, named, { messageId: "msg_1" }));
    expect(takeover).toMatchObject({ jobId: attempt.jobId, attempt: 2 });
    expect(await race.job(named.id)).toMatchObject({ status: "queued", attempts: 0 });
  });

  test("its redelivery waits for the finish of the job that it ran, and runs nothing", async () => {
    const { named, attempt } = await displaced();
    const finish = await race.begin();
    await finishAs(finish.store, attempt, RETRY);
    const redelivery = claimFor(race.store, named, { messageId: "msg_1" });
    await race.waiting(1);
    await finish.commit();

    expect(await redelivery).toEqual({ kind: "noop", reason: "recorded" });
    expect(await race.job(named.id)).toMatchObject({ status: "queued", attempts: 0 });
  });
});

describe("one token twice", () => {
  test("a repeated claim finds its own token and counts no second attempt", async () => {
    const job = await queued(race);
    const lockToken = randomUUID();
    const first = attemptOf(await claimFor(race.store, job, { lockToken }));

    expect(await claimFor(race.store, job, { lockToken })).toMatchObject({
      kind: "claimed",
      repeated: true,
      attempt: { jobId: job.id, attempt: first.attempt, lockToken },
    });
    expect(await race.job(job.id)).toMatchObject({ attempts: 1 });
  });

  test("a claim whose answer is lost is repeated, and gives the attempt that it started", async () => {
    const job = await queued(race);
    race.database.neon.setFault({ action: "lose-answer", nth: 1 });

    expect(await claimFor(race.store, job)).toMatchObject({ kind: "claimed", repeated: true });
    expect(await race.job(job.id)).toMatchObject({ attempts: 1 });
  });

  test.each([
    { end: "commit" as const, repeated: true, other: "queued" },
    { end: "rollback" as const, repeated: false, other: "processing" },
  ])(
    "a repeat that overtakes its first try waits for it ($end), and they run one job",
    async ({ end, repeated, other }) => {
      const job = await queued(race);
      const due = await queued(race);
      const lockToken = randomUUID();
      const first = await race.begin();
      await claimFor(first.store, job, { lockToken });
      // The named job is locked, so that the repeat takes the other one, with a token that is in use.
      const second = claimFor(race.store, job, { lockToken });
      await race.waiting(1);
      await first[end]();

      const expected = { jobId: repeated ? job.id : due.id, attempt: 1 };
      expect(await second).toMatchObject({ kind: "claimed", repeated, attempt: expected });
      expect(await race.job(due.id)).toMatchObject({ status: other });
      expect(await race.count("jobs where lock_token = $1", [lockToken])).toBe(1);
    },
  );

  test("three claims at once with one token are one attempt", async () => {
    const job = await queued(race);
    await queued(race);
    const lockToken = randomUUID();
    const outcomes = await Promise.all(
      Array.from({ length: 3 }, () => claimFor(race.store, job, { lockToken })),
    );
    const jobs = new Set(
      outcomes.flatMap((each) => (each.kind === "claimed" ? each.attempt.jobId : [])),
    );

    expect(jobs.size).toBe(1);
    expect(await race.count("jobs where attempts > 0")).toBe(1);
  });
});
