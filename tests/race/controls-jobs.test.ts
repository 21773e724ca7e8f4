/** What goes wrong without the guards of jobs, messages and records: each is cut out of its statement. */

import { randomUUID } from "node:crypto";
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
  queued,
  redeliver,
  replayJob,
  runJobNow,
  running,
} from "../support/race-jobs.js";
import { answeredJobs, createCall, send } from "../support/race-requests.js";
import { pauseBefore } from "../support/race-session.js";
import { claimFor, newTake } from "../support/store.js";

const race = setUpRace({ fresh: true });
const KEY = { dedupeKey: "invoice:1" };
const BULK = { publishMax: 10, unpublishedTypes: [] };
const RETENTION = { finishedDays: 14, deadLetterDays: 14 };

describe("operators", () => {
  test("without the row lock, a replay puts a job that runs again back into the queue", async () => {
    const { jobId } = await deadLetter(race);
    const store = await race.edited([{ statement: "replay", cut: "for update" }]);
    const held = await race.begin();
    await replayJob(held.store, jobId);
    const attempt = attemptOf(await redeliver(held.store, { jobId }, { seq: 2 }));
    const second = replayJob(store, jobId);
    await race.waiting(1);
    await held.commit();

    expect(await second).toMatchObject({ kind: "replayed" });
    expect(await finishAs(race.store, attempt, COMPLETED)).toEqual({ kind: "lease_lost" });
  });

  test("without the row locks, a bulk replay does the same", async () => {
    const { jobId } = await deadLetter(race);
    const cut = "for update of j skip locked";
    const store = await race.edited([{ statement: "replay-many", cut }]);
    const held = await race.begin();
    await replayJob(held.store, jobId);
    const attempt = attemptOf(await redeliver(held.store, { jobId }, { seq: 2 }));
    const bulk = store.replayMany({ limit: 10, spreadSeconds: 0 }, action(), BULK);
    await race.waiting(1);
    await held.commit();

    expect(await bulk).toMatchObject({ replayed: 1 });
    expect(await finishAs(race.store, attempt, COMPLETED)).toEqual({ kind: "lease_lost" });
  });

  test("without the row lock, run-now says that it moved a job that runs", async () => {
    const job = await queued(race, { delaySeconds: 30 });
    const store = await race.edited([{ statement: "run-now", cut: "for update" }]);
    const held = await race.begin();
    await held.client.query("update clock.offset_by set value = '60 seconds'");
    await claimFor(held.store, job);
    const moved = runJobNow(store, job.id);
    await race.waiting(1);
    await held.commit();

    expect(await moved).toMatchObject({ kind: "moved", job: { status: "processing" } });
  });
});

describe("messages", () => {
  test("without the row lock, two sweeps publish one job", async () => {
    const job = await queued(race);
    await race.store.markUnpublished([{ jobId: job.id, seq: 1 }]);
    const cut = "for update of j skip locked";
    const store = await race.edited([{ statement: "take-unpublished", cut }]);
    const held = await race.begin();
    expect(await held.store.takeUnpublished(newTake())).toHaveLength(1);
    const second = store.takeUnpublished(newTake());
    await race.waiting(1);
    await held.commit();

    expect(await second).toHaveLength(1);
  });

  test("without the row lock, two sweeps publish one vanished message, each with a seq of its own", async () => {
    const job = await queued(race);
    await race.database.advance(700);
    await running(race, { priority: 9 });
    const cut = "for update of j skip locked";
    const store = await race.edited([{ statement: "take-vanished", cut }]);
    const held = await race.begin();
    await held.store.takeVanished(newTake());
    const second = store.takeVanished(newTake());
    await race.waiting(1);
    await held.commit();

    expect(await second).toMatchObject([{ jobId: job.id, seq: 3 }]);
  });

  test("without the time of the next probe, a type that stays silent is probed every minute", async () => {
    await queued(race);
    const cut = "where t.next_probe_at is null or t.next_probe_at <= now()";
    const store = await race.edited([{ statement: "probe-silent-types", cut }]);
    for (const seq of [2, 3, 4]) {
      await race.database.advance(61);
      expect(await store.probeSilentTypes(newTake())).toMatchObject([{ seq }]);
    }
  });

  test("without the seq, an old hop lowers the seq of a newer message", async () => {
    const job = await queued(race, { delaySeconds: 3600 });
    await race.store.markHopped(job.id, 1);
    await race.store.markHopped(job.id, 2);
    const cut = /and trigger_seq <= (?<seq>\$\d+)::int/;
    const into = "and $<seq>::int is not null";
    const store = await race.edited([{ statement: "mark-hopped", cut, into }]);
    await store.markHopped(job.id, 1);

    expect(await race.job(job.id)).toMatchObject({ trigger_seq: 2 });
  });

  test("without the seq, an old failure takes back the mark of a newer message", async () => {
    const job = await queued(race, { delaySeconds: 3600 });
    await runJobNow(race.store, job.id);
    const cut = "and j.trigger_seq = failed.seq";
    const store = await race.edited([{ statement: "mark-unpublished", cut }]);
    await store.markUnpublished([{ jobId: job.id, seq: 1 }]);

    expect(await race.job(job.id)).toMatchObject({ trigger_seq: 2, triggered_at: null });
  });
});

describe("creates", () => {
  test("without the expiry, a duplicate takes the key over and makes a second job", async () => {
    const idempotencyKey = randomUUID();
    const cut = "where r.expires_at <= now()";
    const store = await race.edited([{ statement: "create: insert", cut }]);
    await send(race.store, createCall([{}], { idempotencyKey }));

    const outcome = await send(store, createCall([{}], { idempotencyKey }));
    expect(outcome).toMatchObject({ kind: "created" });
    expect(await race.count("jobs")).toBe(2);
  });

  test("without the lock on a live record, a purge deletes the response that is to be replayed", async () => {
    const idempotencyKey = randomUUID();
    await send(race.store, createCall([{}], { idempotencyKey, ttlHours: 1 }));
    const cut = /do update set\s+request_hash[\s\S]*?where r\.expires_at <= now\(\)/;
    const { edit, reached, resume } = pauseBefore("create: respond");
    const { store } = await race.begin([
      { statement: "create: insert", cut, into: "do nothing" },
      edit,
    ]);
    const replayed = send(store, createCall([{}], { idempotencyKey }));
    const failed = expect(replayed).rejects.toThrow("at least one row");
    await reached;
    await race.database.advance(3601);
    expect(await race.store.purgeIdempotencyRecords(10)).toBe(1);
    resume();

    await failed;
  });

  test("without the lock on the active job, a hit finds it gone and has no answer", async () => {
    const attempt = await running(race, KEY);
    const cut = "do update set dedupe_key = excluded.dedupe_key where false";
    const { edit, reached, resume } = pauseBefore("create: respond");
    const { store } = await race.begin([
      { statement: "create: insert", cut, into: "do nothing" },
      edit,
    ]);
    const created = send(store, createCall([KEY]));
    const failed = expect(created).rejects.toThrow("at least one row");
    await reached;
    await finishAs(race.store, attempt, COMPLETED);
    resume();

    await failed;
  });

  test("without the refusal, a create is deduplicated with a job that is being cancelled", async () => {
    const attempt = await running(race, KEY);
    await cancelJob(race.store, attempt.jobId);
    const cut = "case when response.cancelling then 409 else";
    const into = "case when false then 409 else";
    const store = await race.edited([{ statement: "create: respond", cut, into }]);

    const [answer] = answeredJobs(await send(store, createCall([KEY])));
    expect(answer).toMatchObject({ deduplicated: true, jobId: attempt.jobId });
  });

  test("without the order of slots, crossed batches deadlock", async () => {
    const cut = "order by f.job_type, f.dedupe_key, f.position";
    const edits = [{ statement: "create: insert", cut, into: "order by f.position" }];
    const stores = [await race.edited(edits), await race.edited(edits)] as const;
    const holders = [await race.begin(), await race.begin()] as const;
    const [a, b, c, d] = ["a", "b", "c-stop", "d-stop"].map((dedupeKey) => ({ dedupeKey }));
    if (!a || !b || !c || !d) throw new Error("there are four keys");
    await send(holders[0].store, createCall([c]));
    await send(holders[1].store, createCall([d]));
    const batches = [
      send(stores[0], createCall([a, c, b])),
      send(stores[1], createCall([b, d, a])),
    ];
    const settled = Promise.allSettled(batches);
    await race.waiting(2);
    for (const holder of holders) await holder.commit();

    const failures = (await settled).filter(({ status }) => status === "rejected");
    expect(failures).toMatchObject([{ reason: { refusal: { code: "40P01" } } }]);
  });

  test("without the slot's index, two replays make one key active twice", async () => {
    const [one, two] = [await deadLetter(race, KEY), await deadLetter(race, KEY)];
    await race.rows("drop index jobs_dedupe_slot");
    try {
      const held = await race.begin();
      await replayJob(held.store, one.jobId);
      expect(await replayJob(race.store, two.jobId)).toMatchObject({ kind: "replayed" });
      await held.commit();
      expect(await race.count("jobs where dedupe_slot is not null")).toBe(2);
    } finally {
      await race.rows(
        `truncate jobs; create unique index jobs_dedupe_slot on jobs (tenant, job_type, dedupe_slot)
         where dedupe_slot is not null`,
      );
    }
  });
});

describe("retention", () => {
  test("without the lock of a late finish, a pruned job leaves history behind", async () => {
    const lost = await expired(race);
    const newer = attemptOf(await redeliver(race.store, lost));
    await finishAs(race.store, newer, COMPLETED);
    await race.database.advance(15 * 86_400);
    const store = await race.edited([{ statement: "finish", cut: /for (key )?share/ }]);
    const held = await race.begin();
    await held.store.pruneJobs(RETENTION, 10);
    const finish = finishAs(store, lost, COMPLETED);
    await race.waiting(1);
    await held.commit();
    await finish;

    expect([await race.count("jobs"), await race.count("job_attempts")]).toEqual([0, 1]);
  });

  test("without lock and second look, a prune deletes a job that was replayed", async () => {
    const { jobId } = await deadLetter(race);
    await race.database.advance(15 * 86_400);
    const store = await race.edited([
      { statement: "prune-jobs", cut: "for update skip locked" },
      { statement: "prune-jobs", cut: "(select id from old) and", into: "(select id from old) or" },
    ]);
    const held = await race.begin();
    await replayJob(held.store, jobId);
    const pruned = store.pruneJobs(RETENTION, 10);
    await race.waiting(1);
    await held.commit();

    expect(await pruned).toBe(1);
    expect(await race.count("jobs")).toBe(0);
  });
});
