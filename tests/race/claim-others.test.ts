import { describe, expect, test } from "vitest";
import type { Store } from "../../src/core/ports.js";
import { type Race, setUpRace } from "../support/race.js";
import {
  action,
  attemptOf,
  cancelJob,
  expired,
  queued,
  redeliver,
  runJobNow,
  running,
  SWEEP_TYPES,
  TYPE,
} from "../support/race-jobs.js";
import { claimFor, newTake } from "../support/store.js";

const race = setUpRace();
const PAUSED = { kind: "noop", reason: "paused" };

describe("a claim beside a sweep that holds the job", () => {
  const steps = [
    { name: "takeUnpublished", prepare: unpublished, sweep: takeUnpublished },
    { name: "takeVanished", prepare: vanished, sweep: takeVanished },
    { name: "probeSilentTypes", prepare: silent, sweep: probeSilentTypes },
  ];

  test.each(steps)(
    "$name: the delivery hears that the job is locked, then runs it",
    async ({ prepare, sweep }) => {
      const job = await prepare(race);
      const held = await race.begin();
      expect(await sweep(held.store)).toMatchObject([{ jobId: job.id }]);

      expect(await claimFor(race.store, job)).toEqual({ kind: "locked", named: true });
      await held.commit();

      expect(attemptOf(await claimFor(race.store, job))).toMatchObject({
        jobId: job.id,
        attempt: 1,
      });
    },
  );

  test.each(steps)(
    "$name: a job whose claim is under way is left out",
    async ({ prepare, sweep }) => {
      const job = await prepare(race);
      const held = await race.begin();
      await claimFor(held.store, job);

      expect(await sweep(race.store)).toEqual([]);
      await held.commit();

      expect(await race.job(job.id)).toMatchObject({ status: "processing", trigger_seq: 1 });
    },
  );

  test("markUnpublished: the delivery hears that the job is locked, then runs it", async () => {
    const job = await queued(race);
    const held = await race.begin();
    await held.store.markUnpublished([{ jobId: job.id, seq: 1 }]);

    expect(await claimFor(race.store, job)).toEqual({ kind: "locked", named: true });
    await held.commit();

    expect(attemptOf(await claimFor(race.store, job))).toMatchObject({ jobId: job.id, attempt: 1 });
  });

  test("recoverLeases: the delivery hears that the job is locked, then that it waits for its backoff", async () => {
    const lost = await expired(race);
    const held = await race.begin();
    expect(await held.store.recoverLeases(SWEEP_TYPES, newTake())).toMatchObject({ failed: 1 });

    expect(await redeliver(race.store, lost)).toEqual({ kind: "locked", named: true });
    await held.commit();

    expect(await redeliver(race.store, lost, { seq: 2 })).toMatchObject({ kind: "not_due" });
    expect(await race.job(lost.jobId)).toMatchObject({ status: "failed", attempts: 1 });
  });

  test("recoverLeases: when the sweep is rolled back, the delivery takes the lease over", async () => {
    const lost = await expired(race);
    const held = await race.begin();
    await held.store.recoverLeases(SWEEP_TYPES, newTake());
    await held.rollback();

    expect(attemptOf(await redeliver(race.store, lost)).attempt).toBe(2);
    expect(await race.attempts(lost.jobId)).toHaveLength(1);
  });

  test("recoverLeases: a lease that is being taken over is left to its new holder", async () => {
    const lost = await expired(race);
    const held = await race.begin();
    const takeover = attemptOf(await redeliver(held.store, lost));

    expect(await race.store.recoverLeases(SWEEP_TYPES, newTake())).toMatchObject({ failed: 0 });
    await held.commit();

    expect(await race.store.recoverLeases(SWEEP_TYPES, newTake())).toMatchObject({ failed: 0 });
    expect(await race.job(lost.jobId)).toMatchObject({
      attempts: 2,
      lock_token: takeover.lockToken,
    });
    expect(await race.attempts(lost.jobId)).toHaveLength(1);
  });

  test("the message of a lost attempt waits for the sweep that ends it, and starts nothing", async () => {
    const lost = await expired(race, { messageId: "msg_1" });
    const held = await race.begin();
    await held.store.recoverLeases(SWEEP_TYPES, newTake());
    const redelivery = redeliver(race.store, lost, { messageId: "msg_1" });
    await race.waiting(1);
    await held.commit();

    expect(await redelivery).toEqual({ kind: "noop", reason: "recorded" });
    expect(await race.job(lost.jobId)).toMatchObject({ status: "failed", attempts: 1 });
  });
});

describe("a claim beside an operator", () => {
  test("a job that is being cancelled is not claimed, and ends cancelled without an attempt", async () => {
    const job = await queued(race);
    const held = await race.begin();
    await cancelJob(held.store, job.id);

    expect(await claimFor(race.store, job)).toEqual({ kind: "locked", named: true });
    await held.commit();

    expect(await claimFor(race.store, job)).toEqual({ kind: "noop", reason: "finished" });
    expect(await race.job(job.id)).toMatchObject({ status: "cancelled", attempts: 0 });
  });

  test.each([
    { end: "commit" as const, kind: "requested", status: "processing" },
    { end: "rollback" as const, kind: "cancelled", status: "cancelled" },
  ])(
    "a cancel waits for the claim ($end) and tells what became of the job",
    async ({ end, kind, status }) => {
      const job = await queued(race);
      const held = await race.begin();
      await claimFor(held.store, job);
      const cancelled = cancelJob(race.store, job.id);
      await race.waiting(1);
      await held[end]();

      expect(await cancelled).toMatchObject({ kind, job: { status, cancelRequested: true } });
      expect(await race.job(job.id)).toMatchObject({ status });
    },
  );

  test("a delivery that meets run-now under way is told to wait for a moment, then runs the job", async () => {
    const job = await queued(race, { delaySeconds: 3600 });
    const held = await race.begin();
    expect(await runJobNow(held.store, job.id)).toMatchObject({ kind: "moved" });

    expect(await claimFor(race.store, job)).toMatchObject({ kind: "not_due" });
    await held.commit();

    expect(attemptOf(await claimFor(race.store, job)).triggerSeq).toBe(2);
  });

  test("run-now waits for the claim of a job that has just become due, and refuses", async () => {
    const job = await queued(race, { delaySeconds: 30 });
    const held = await race.begin();
    // Only for the claim the time has come: its transaction moved the clock.
    await held.client.query("update clock.offset_by set value = '60 seconds'");
    await claimFor(held.store, job);
    const moved = runJobNow(race.store, job.id);
    await race.waiting(1);
    await held.commit();

    expect(await moved).toMatchObject({ kind: "not_waiting", job: { status: "processing" } });
    expect(await race.job(job.id)).toMatchObject({ trigger_seq: 1, attempts: 1 });
  });
});

describe("a claim beside a pause", () => {
  test("a pause that is not committed holds nothing back; once it is, nothing is claimed", async () => {
    const [first, second] = [await queued(race), await queued(race)];
    const held = await race.begin();
    await held.store.setTypePaused(TYPE, true, action());

    expect(attemptOf(await claimFor(race.store, first)).jobId).toBe(first.id);
    await held.commit();

    expect(await claimFor(race.store, second)).toEqual({ kind: "noop", reason: "paused" });
    expect(await race.job(second.id)).toMatchObject({ status: "queued", triggered_at: null });
  });

  test("a delivery to a paused type waits for the cancel of its job, and leaves it as it is", async () => {
    const job = await queued(race);
    await race.store.setTypePaused(TYPE, true, action());
    const held = await race.begin();
    await cancelJob(held.store, job.id);
    const delivery = claimFor(race.store, job);
    await race.waiting(1);
    await held.commit();

    expect(await delivery).toEqual({ kind: "noop", reason: "paused" });
    expect(await race.job(job.id)).toMatchObject({ status: "cancelled" });
    expect((await race.job(job.id)).triggered_at).not.toBeNull();
  });

  test("a delivery to a paused type that waits for its job holds up no other delivery", async () => {
    const [locked, free] = [await queued(race), await queued(race)];
    await race.store.setTypePaused(TYPE, true, action());
    // One shard of the counters, so that both deliveries count in the same row.
    const edits = [{ statement: "claim", cut: "floor(random() * 8)::int", into: "0" }];
    const stores = [await race.edited(edits), await race.edited(edits)] as const;
    const holder = await race.lockJobs(locked.id);
    const first = claimFor(stores[0], locked);
    await race.waiting(1);
    let answered = false;
    const second = claimFor(stores[1], free).finally(() => {
      answered = true;
    });
    await race.until(async () => answered || (await race.waiters()) === 2, true);
    const heldUp = !answered;
    await holder.rollback();

    expect([await first, await second, heldUp]).toEqual([PAUSED, PAUSED, false]);
    expect(await race.count("job_events where kind = 'delivery_refused'")).toBe(2);
  });

  test("a resume is no reason to lose the claim that ran on through the pause", async () => {
    const attempt = await running(race);
    await race.store.setTypePaused(TYPE, true, action());
    expect(await claimFor(race.store, { id: attempt.jobId, type: TYPE }, attempt)).toMatchObject({
      kind: "claimed",
      repeated: true,
    });
    await race.store.setTypePaused(TYPE, false, action());

    expect(await race.job(attempt.jobId)).toMatchObject({ lock_token: attempt.lockToken });
  });
});

async function unpublished(of: Race) {
  const job = await queued(of);
  await of.store.markUnpublished([{ jobId: job.id, seq: 1 }]);
  return job;
}

/** Due for long, in a type that moves, so that no probe is needed first. */
async function vanished(of: Race) {
  const job = await queued(of);
  await of.database.advance(700);
  await running(of, { priority: 9 });
  return job;
}

async function silent(of: Race) {
  const job = await queued(of);
  await of.database.advance(61);
  return job;
}

function takeUnpublished(store: Store) {
  return store.takeUnpublished(newTake());
}

function takeVanished(store: Store) {
  return store.takeVanished(newTake());
}

function probeSilentTypes(store: Store) {
  return store.probeSilentTypes(newTake());
}
