import { describe, expect, test } from "vitest";
import { setUpRace } from "../support/race.js";
import {
  action,
  attemptOf,
  COMPLETED,
  expired,
  FATAL,
  finishAs,
  redeliver,
  replayJob,
} from "../support/race-jobs.js";

const race = setUpRace();
const RETENTION = { finishedDays: 14, deadLetterDays: 14 };
const prune = (store = race.store) => store.pruneJobs(RETENTION, 100);

/** A job that ended so long ago that it may go; its first attempt never reported. */
async function old(report = FATAL) {
  const lost = await expired(race);
  const takeover = attemptOf(await redeliver(race.store, lost));
  await race.store.beginEffect({ ...takeover, name: "charge" }, true);
  await finishAs(race.store, takeover, report);
  await race.database.advance(15 * 86_400);
  return lost;
}

/** What is left of a job in all tables. */
const rowsOf = (jobId: string) =>
  race.rows<{ jobs: number; attempts: number; effects: number; events: number }>(
    `select (select count(*) from jobs where id = $1)::int as jobs,
       (select count(*) from job_attempts where job_id = $1)::int as attempts,
       (select count(*) from job_effects where job_id = $1)::int as effects,
       (select count(*) from job_events where job_id = $1)::int as events`,
    [jobId],
  );
const NOTHING = [{ jobs: 0, attempts: 0, effects: 0, events: 0 }];

describe("prune and a late finish", () => {
  test("a finish that waits for the prune recreates nothing", async () => {
    const lost = await old();
    const held = await race.begin();
    expect(await prune(held.store)).toBe(1);
    const finish = finishAs(race.store, lost, COMPLETED);
    await race.waiting(1);
    await held.commit();

    expect(await finish).toEqual({ kind: "gone" });
    expect(await rowsOf(lost.jobId)).toEqual(NOTHING);
  });

  test("a finish that waits for a prune that is rolled back is kept as late", async () => {
    const lost = await old();
    const held = await race.begin();
    await prune(held.store);
    const finish = finishAs(race.store, lost, COMPLETED);
    await race.waiting(1);
    await held.rollback();

    expect(await finish).toEqual({ kind: "lease_lost" });
    expect(await race.attempts(lost.jobId)).toMatchObject([
      { number: 1, late_outcome: "completed" },
      { number: 2, outcome: "dead_letter" },
    ]);
  });

  test("a prune skips the job that a late finish holds, and later takes all of it", async () => {
    const lost = await old();
    const held = await race.begin();
    expect(await finishAs(held.store, lost, COMPLETED)).toEqual({ kind: "lease_lost" });

    expect(await prune()).toBe(0);
    await held.commit();

    expect(await prune()).toBe(1);
    expect(await rowsOf(lost.jobId)).toEqual(NOTHING);
  });

  test("an effect that ends while its job is pruned is not recreated", async () => {
    const lost = await old();
    const [effect] = await race.rows<{ lock_token: string }>("select lock_token from job_effects");
    const held = await race.begin();
    await prune(held.store);
    const ended = race.store.endEffect(
      { jobId: lost.jobId, lockToken: effect?.lock_token ?? "", name: "charge" },
      { kind: "done", result: 1, trace: null },
    );
    await race.waiting(1);
    await held.commit();

    expect(await ended).toBe(false);
    expect(await rowsOf(lost.jobId)).toEqual(NOTHING);
  });
});

describe("prune and replay", () => {
  test.each([
    { end: "commit" as const, kind: "not_found", jobs: 0 },
    { end: "rollback" as const, kind: "replayed", jobs: 1 },
  ])("a replay waits for the prune ($end) and is $kind", async ({ end, kind, jobs }) => {
    const { jobId } = await old();
    const held = await race.begin();
    await prune(held.store);
    const replayed = replayJob(race.store, jobId);
    await race.waiting(1);
    await held[end]();

    expect(await replayed).toMatchObject({ kind });
    expect(await rowsOf(jobId)).toMatchObject([{ jobs, events: jobs }]);
  });

  test("a prune skips the job that is being replayed, and leaves it alone afterwards", async () => {
    const { jobId } = await old();
    const held = await race.begin();
    await replayJob(held.store, jobId);

    expect(await prune()).toBe(0);
    await held.commit();

    expect(await prune()).toBe(0);
    expect(await race.job(jobId)).toMatchObject({ status: "queued" });
    expect(await race.attempts(jobId)).toHaveLength(2);
  });

  test("a bulk replay leaves out what is being pruned", async () => {
    const { jobId } = await old();
    const held = await race.begin();
    await prune(held.store);
    const answer = await race.store.replayMany({ limit: 10, spreadSeconds: 0 }, action(), {
      publishMax: 10,
      unpublishedTypes: [],
    });
    await held.commit();

    expect(answer).toMatchObject({ matched: 1, replayed: 0, skipped: 1 });
    expect(await rowsOf(jobId)).toEqual(NOTHING);
  });

  test("five prunes at once and replays of every second job lose and orphan nothing", async () => {
    const [{ jobId: first }, { jobId: second }] = [await old(), await old()];
    const copies = await race.rows<{ id: string }>(
      `insert into jobs (id, status, job_type, tenant, priority, attempts, max_attempts, created_at,
         updated_at, finished_at, last_error, payload_json, started_at, attempt_started_at)
       select gen_random_uuid(), 'dead_letter', job_type, tenant, 0, 1, 3, created_at, updated_at,
         finished_at, last_error, '{}', started_at, attempt_started_at
       from jobs, generate_series(1, 30) where id in ($1, $2) returning id`,
      [first, second],
    );
    const replays = copies.filter((_, at) => at % 2 === 0).map(({ id }) => id);
    const [pruned, replayed] = await Promise.all([
      Promise.all(Array.from({ length: 5 }, () => race.store.pruneJobs(RETENTION, 20))),
      Promise.all(replays.map((id) => replayJob(race.store, id))),
    ]);
    const gone = pruned.reduce((sum, count) => sum + count, 0);

    expect(await race.count("jobs")).toBe(copies.length + 2 - gone);
    expect(await race.count("jobs where status = 'queued'")).toBe(
      replayed.filter(({ kind }) => kind === "replayed").length,
    );
    for (const table of ["job_attempts", "job_events", "job_effects"]) {
      expect(await race.count(`${table} where job_id not in (select id from jobs)`)).toBe(0);
    }
  });
});

test("a delivery for a job that is being pruned leaves no event behind", async () => {
  const { jobId } = await old();
  const held = await race.begin();
  await prune(held.store);
  await redeliver(race.store, { jobId });
  await held.commit();

  expect(await rowsOf(jobId)).toEqual(NOTHING);
});
