import { describe, expect, test } from "vitest";
import type { Wakeup } from "../../src/core/job.js";
import { setUpRace } from "../support/race.js";
import {
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
import { claimFor, createJobs, newJob, newTake } from "../support/store.js";

const race = setUpRace();
const SWEEPS = 5;

/** Runs a step of five sweeps at once, each again and again until it finds nothing. */
async function fiveSweeps(step: () => Promise<Wakeup[]>): Promise<Wakeup[]> {
  const untilEmpty = async () => {
    const found: Wakeup[] = [];
    for (;;) {
      const wakeups = await step();
      if (wakeups.length === 0) return found;
      found.push(...wakeups);
    }
  };
  return (await Promise.all(Array.from({ length: SWEEPS }, untilEmpty))).flat();
}

const jobsOf = (wakeups: Wakeup[]) => new Set(wakeups.map(({ jobId }) => jobId));
const many = (count: number) => Array.from({ length: count }, () => newJob({ type: TYPE }));

describe("five sweeps at once", () => {
  test("end each of 500 expired leases once, with one new message and one history row each", async () => {
    await createJobs(race.direct, many(500));
    // By hand, for 500 claims would take the whole test's time.
    await race.database.pg.query(
      `update jobs set status = 'processing', attempts = 1, lock_token = gen_random_uuid(),
         lock_until = now() - interval '1 second', started_at = now(), attempt_started_at = now(),
         next_run_at = null, next_trigger_at = null`,
    );
    const wakeups = await fiveSweeps(
      async () => (await race.store.recoverLeases(SWEEP_TYPES, newTake(60))).wakeups,
    );

    expect(wakeups).toHaveLength(500);
    expect(jobsOf(wakeups).size).toBe(500);
    expect(await race.count("jobs where status = 'failed' and trigger_seq = 2")).toBe(500);
    expect(await race.count("job_attempts where outcome = 'lease_expired'")).toBe(500);
  });

  test("publish each of 500 jobs whose publish had failed once, with the seq that failed", async () => {
    await createJobs(race.direct, many(500));
    await race.database.pg.query("update jobs set triggered_at = null");
    const wakeups = await fiveSweeps(() => race.store.takeUnpublished(newTake(60)));

    expect(wakeups).toHaveLength(500);
    expect(jobsOf(wakeups).size).toBe(500);
    expect(new Set(wakeups.map(({ seq }) => seq))).toEqual(new Set([1]));
    expect(await race.count("job_events where kind = 'published'")).toBe(500);
  });

  test("publish each of 500 vanished messages at most once, with a new seq", async () => {
    await createJobs(race.direct, many(500));
    await race.database.advance(700);
    await running(race, { priority: 9 });
    const takings = Array.from({ length: SWEEPS * 4 }, () => race.store.takeVanished(newTake(500)));
    const wakeups = (await Promise.all(takings)).flat();

    expect(wakeups.length).toBeGreaterThan(0);
    expect(jobsOf(wakeups).size).toBe(wakeups.length);
    expect(new Set(wakeups.map(({ seq }) => seq))).toEqual(new Set([2]));
    expect(await race.count("jobs where trigger_seq = 2")).toBe(wakeups.length);
  });

  test("send one probe into a silent type", async () => {
    await createJobs(race.direct, many(20));
    await race.database.advance(61);
    const probes = await Promise.all(
      Array.from({ length: SWEEPS }, () => race.store.probeSilentTypes(newTake())),
    );

    expect(probes.flat()).toHaveLength(1);
    expect(await race.count("jobs where trigger_seq = 2")).toBe(1);
    expect(await race.rows("select probes from type_state")).toEqual([{ probes: 1 }]);
  });
});

describe("a sweep that waits for another", () => {
  test.each([
    { end: "commit" as const, probes: 0 },
    { end: "rollback" as const, probes: 1 },
  ])("beside another's probe sends none, and after its $end $probes", async ({ end, probes }) => {
    await queued(race);
    await race.database.advance(61);
    const held = await race.begin();
    expect(await held.store.probeSilentTypes(newTake())).toHaveLength(1);
    expect(await race.store.probeSilentTypes(newTake())).toEqual([]);
    await held[end]();

    expect(await race.store.probeSilentTypes(newTake())).toHaveLength(probes);
    expect(await race.rows("select probes from type_state")).toEqual([{ probes: 1 }]);
  });

  test.each([
    { end: "commit" as const, taken: 0 },
    { end: "rollback" as const, taken: 1 },
  ])("at vanished messages ($end) takes $taken of them", async ({ end, taken }) => {
    const job = await queued(race);
    await race.database.advance(700);
    await running(race, { priority: 9 });
    const held = await race.begin();
    expect(await held.store.takeVanished(newTake())).toMatchObject([{ jobId: job.id, seq: 2 }]);
    const second = race.store.takeVanished(newTake());
    await race.waiting(1);
    await held[end]();

    expect(await second).toHaveLength(taken);
    expect(await race.job(job.id)).toMatchObject({ trigger_seq: 2 });
  });

  test("a job that is claimed and finished while a sweep waits is not published as vanished", async () => {
    const job = await queued(race);
    await race.database.advance(700);
    await running(race, { priority: 9 });
    const held = await race.begin();
    await held.client.query("insert into type_state (job_type) values ($1)", [TYPE]);
    const sweep = race.store.takeVanished(newTake());
    await race.waiting(1);
    attemptOf(await claimFor(race.store, job));
    await held.commit();

    expect(await sweep).toEqual([]);
    expect(await race.job(job.id)).toMatchObject({ status: "processing", trigger_seq: 1 });
  });
});

describe("a publish that failed", () => {
  test("is not written down once the job was claimed: the mark waits for the claim", async () => {
    const job = await queued(race);
    const held = await race.begin();
    await claimFor(held.store, job);
    const marked = race.store.markUnpublished([{ jobId: job.id, seq: 1 }]);
    await race.waiting(1);
    await held.commit();
    await marked;

    expect(await race.job(job.id)).toMatchObject({ status: "processing" });
    expect((await race.job(job.id)).triggered_at).not.toBeNull();
    expect(await race.count("job_events")).toBe(0);
  });

  test("is written down when the claim that it waited for is rolled back", async () => {
    const job = await queued(race);
    const held = await race.begin();
    await claimFor(held.store, job);
    const marked = race.store.markUnpublished([{ jobId: job.id, seq: 1 }]);
    await race.waiting(1);
    await held.rollback();
    await marked;

    expect(await race.job(job.id)).toMatchObject({ triggered_at: null, trigger_seq: 1 });
  });

  test("does not take back the mark of a newer message that is published at this moment", async () => {
    const job = await queued(race, { delaySeconds: 3600 });
    const held = await race.begin();
    await runJobNow(held.store, job.id);
    const marked = race.store.markUnpublished([{ jobId: job.id, seq: 1 }]);
    await race.waiting(1);
    await held.commit();
    await marked;

    expect(await race.job(job.id)).toMatchObject({ trigger_seq: 2 });
    expect((await race.job(job.id)).triggered_at).not.toBeNull();
  });

  test("of several, the one whose row a rival holds is waited for last, the others are marked at once", async () => {
    const jobs = [await queued(race), await queued(race), await queued(race)] as const;
    const holder = await race.lockJobs(jobs[1].id);
    const marked = race.store.markUnpublished(jobs.map(({ id }) => ({ jobId: id, seq: 1 })));
    await race.waiting(1);

    expect(await race.count("jobs where triggered_at is null")).toBe(2);
    await holder.commit();
    await marked;
    expect(await race.count("jobs where triggered_at is null")).toBe(3);
  });

  test("of several, one that is cancelled while it is waited for stays as it is", async () => {
    const jobs = [await queued(race), await queued(race)] as const;
    const held = await race.begin();
    await cancelJob(held.store, jobs[1].id);
    const marked = race.store.markUnpublished(jobs.map(({ id }) => ({ jobId: id, seq: 1 })));
    await race.waiting(1);
    await held.commit();
    await marked;

    expect(await race.job(jobs[1].id)).toMatchObject({ status: "cancelled" });
    expect(await race.count("jobs where triggered_at is null")).toBe(1);
  });
});

describe("a hop", () => {
  test("eight duplicates of one early delivery raise the seq once", async () => {
    const job = await queued(race, { delaySeconds: 3600 });
    await Promise.all(Array.from({ length: 8 }, () => race.store.markHopped(job.id, 1)));

    expect(await race.job(job.id)).toMatchObject({ trigger_seq: 2 });
  });

  test("that waits for run-now does not lower the seq of its newer message", async () => {
    const job = await queued(race, { delaySeconds: 3600 });
    await race.store.markHopped(job.id, 1);
    const held = await race.begin();
    await runJobNow(held.store, job.id);
    const hopped = race.store.markHopped(job.id, 2);
    await race.waiting(1);
    await held.commit();
    await hopped;

    expect(await race.job(job.id)).toMatchObject({ trigger_seq: 3 });
  });

  test.each([
    { end: "commit" as const, status: "cancelled", seq: 1 },
    { end: "rollback" as const, status: "queued", seq: 2 },
  ])("that waits for a cancel ($end) leaves the job $status", async ({ end, status, seq }) => {
    const job = await queued(race, { delaySeconds: 3600 });
    const held = await race.begin();
    await cancelJob(held.store, job.id);
    const hopped = race.store.markHopped(job.id, 1);
    await race.waiting(1);
    await held[end]();
    await hopped;

    expect(await race.job(job.id)).toMatchObject({ status, trigger_seq: seq });
  });
});

test("of an expired lease, the message that had claimed it and a sweep, one takes it", async () => {
  for (let n = 0; n < 6; n += 1) await expired(race, { messageId: `msg_${n}` });
  const lost = await race.rows<{ id: string; claimed_by_message: string }>("select * from jobs");
  const redeliveries = lost.map(({ id, claimed_by_message: messageId }) =>
    redeliver(race.store, { jobId: id }, { messageId }),
  );
  const [swept] = await Promise.all([
    race.store.recoverLeases(SWEEP_TYPES, newTake()),
    ...redeliveries,
  ]);
  const claimed = (await Promise.all(redeliveries)).filter(({ kind }) => kind === "claimed");

  expect(swept.failed + claimed.length).toBe(lost.length);
  expect(await race.count("job_attempts where outcome = 'lease_expired'")).toBe(lost.length);
});
