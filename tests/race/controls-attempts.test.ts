/** What goes wrong without the guards of attempts: each is cut out of the production statement. */

import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { setUpRace } from "../support/race.js";
import {
  action,
  attemptOf,
  COMPLETED,
  cancelJob,
  expire,
  expired,
  finishAs,
  queued,
  redeliver,
  running,
  SWEEP_TYPES,
  TYPE,
} from "../support/race-jobs.js";
import { claimFor, newTake } from "../support/store.js";

const race = setUpRace({ fresh: true });
const SKIP_LOCKED = "for update skip locked";
const DONE = { kind: "done", result: 1, trace: null } as const;

/** The parameter stays in use, because Postgres wants to know its type. */
const withoutToken = (statement: string, alias = "") => ({
  statement,
  cut: new RegExp(`and ${alias}lock_token = (?<token>\\$\\d+)::uuid`),
  into: "and $<token>::uuid is not null",
});

describe("claims", () => {
  test("without the row lock, two deliveries run one job at the same time", async () => {
    const job = await queued(race);
    const store = await race.edited([{ statement: "claim", cut: SKIP_LOCKED }]);
    const held = await race.begin();
    await claimFor(held.store, job);
    const rival = claimFor(store, job);
    await race.waiting(1);
    await held.commit();

    expect(attemptOf(await rival)).toMatchObject({ jobId: job.id, attempt: 2 });
  });

  test("without the row lock, a sweep runs a job that a delivery runs", async () => {
    const job = await queued(race);
    const store = await race.edited([{ statement: "claim-due", cut: SKIP_LOCKED }]);
    const held = await race.begin();
    await claimFor(held.store, job);
    const rival = store.claimDue(SWEEP_TYPES, randomUUID());
    await race.waiting(1);
    await held.commit();

    expect(await rival).toMatchObject({ jobId: job.id, attempt: 2 });
  });

  test("without looking for its own token, a repeated claim takes a second job", async () => {
    const job = await queued(race);
    await queued(race);
    const cut = "from jobs where lock_token = (select lock_token from request)";
    const into = "from jobs where false";
    const { store, client } = await race.begin([{ statement: "claim", cut, into }]);
    const lockToken = randomUUID();
    await claimFor(store, job, { lockToken });
    await client.query("savepoint claimed");
    const again = () => claimFor(store, job, { lockToken });

    await expect(again()).rejects.toThrow("jobs_lock_token");
    await client.query("rollback to claimed; drop index jobs_lock_token");
    expect(attemptOf(await again()).jobId).not.toBe(job.id);
  });

  test("without its own index, two claims at once with one token take two jobs", async () => {
    const [job, other] = [await queued(race), await queued(race)];
    const lockToken = randomUUID();
    await race.rows("drop index jobs_lock_token");
    try {
      const held = await race.begin();
      await claimFor(held.store, job, { lockToken });
      expect(attemptOf(await claimFor(race.store, job, { lockToken })).jobId).toBe(other.id);
      await held.commit();
      expect(await race.count("jobs where lock_token = $1", [lockToken])).toBe(2);
    } finally {
      await race.rows(
        `truncate jobs; create unique index jobs_lock_token on jobs (lock_token)
         where lock_token is not null`,
      );
    }
  });

  test("without the look at its message, a redelivery leaves the job that it ran to die", async () => {
    const named = await queued(race);
    await queued(race, { priority: 9 });
    await claimFor(race.store, named, { messageId: "msg_1" });
    await expire(race);
    const cut = "claimed_by_message = (select message_id from request) and";
    const store = await race.edited([{ statement: "claim", cut, into: "false and" }]);

    const outcome = await claimFor(store, named, { messageId: "msg_1" });
    expect(attemptOf(outcome)).toMatchObject({ jobId: named.id, attempt: 1 });
  });

  test("without the look at the pause, a paused type goes on", async () => {
    const job = await queued(race);
    await race.store.setTypePaused(TYPE, true, action());
    const cut = "ts.paused_at is not null";
    const store = await race.edited([{ statement: "claim", cut, into: "false" }]);

    expect(attemptOf(await claimFor(store, job)).jobId).toBe(job.id);
  });
});

describe("the lock token", () => {
  async function takenOver() {
    const lost = await expired(race);
    const newer = attemptOf(await redeliver(race.store, lost));
    return { lost, newer };
  }

  test("without it, a late finish ends the newer attempt's job, whose own result is then late", async () => {
    const { lost, newer } = await takenOver();
    const store = await race.edited([withoutToken("finish", "j\\.")]);

    expect(await finishAs(store, lost, COMPLETED)).toMatchObject({ kind: "recorded" });
    expect(await race.job(lost.jobId)).toMatchObject({ status: "completed" });
    expect(await finishAs(race.store, newer, COMPLETED)).toEqual({ kind: "lease_lost" });
  });

  test("without it, a late heartbeat extends the newer attempt's lease and overwrites its progress", async () => {
    const { lost, newer } = await takenOver();
    await race.store.heartbeat(newer, { step: 2 });
    const store = await race.edited([withoutToken("heartbeat")]);

    expect(await store.heartbeat({ ...lost, leaseSeconds: 900 }, { step: 1 })).toMatchObject({
      kind: "extended",
    });
    expect(await race.job(lost.jobId)).toMatchObject({ progress_json: { step: 1 } });
  });

  test("without it, an attempt that lost its lease begins an effect", async () => {
    const { lost } = await takenOver();
    const store = await race.edited([withoutToken("begin-effect")]);

    expect(await store.beginEffect({ ...lost, name: "charge" }, true)).toEqual({ kind: "run" });
  });

  test("without it, a late end decides over the effect that the newer attempt runs", async () => {
    const lost = await expired(race);
    await race.store.beginEffect({ ...lost, name: "charge" }, true);
    const newer = attemptOf(await redeliver(race.store, lost));
    await race.store.beginEffect({ ...newer, name: "charge" }, true);
    const store = await race.edited([withoutToken("end-effect")]);
    await store.endEffect({ ...lost, name: "charge" }, { kind: "not_done", trace: null });

    expect(await race.store.endEffect({ ...newer, name: "charge" }, DONE)).toBe(false);
  });

  test("without it, an operator settles the effect of the attempt that runs", async () => {
    const attempt = await running(race);
    await race.store.beginEffect({ ...attempt, name: "charge" }, true);
    const cut = "and e.lock_token is distinct from p.lock_token";
    const store = await race.edited([{ statement: "settle-effect", cut }]);
    const settlement = { outcome: "done", result: null } as const;
    await store.settleEffect(attempt.jobId, "charge", settlement, action());
    const end = { kind: "not_done", trace: null } as const;

    expect(await race.store.endEffect({ ...attempt, name: "charge" }, end)).toBe(false);
  });
});

describe("sweeps and cancels beside a finish", () => {
  test("without the row lock, a sweep fails a job that has just completed", async () => {
    const attempt = await expired(race);
    const store = await race.edited([{ statement: "recover-leases", cut: SKIP_LOCKED }]);
    const held = await race.begin();
    await finishAs(held.store, attempt, COMPLETED);
    const swept = store.recoverLeases(SWEEP_TYPES, newTake());
    await race.waiting(1);
    await held.commit();

    expect(await swept).toMatchObject({ failed: 1 });
    expect(await race.job(attempt.jobId)).toMatchObject({ status: "failed", result_json: null });
  });

  test("without the row lock, a cancel flips a job that has just completed", async () => {
    const attempt = await running(race);
    const store = await race.edited([{ statement: "cancel", cut: "for update" }]);
    const held = await race.begin();
    await finishAs(held.store, attempt, COMPLETED);
    const cancelled = cancelJob(store, attempt.jobId);
    await race.waiting(1);
    await held.commit();

    expect(await cancelled).toMatchObject({ kind: "cancelled" });
    expect(await race.job(attempt.jobId)).toMatchObject({ status: "cancelled", result_json: null });
  });

  test("with values of the locked row in SET, a CHECK sees a mixture of two states", async () => {
    const job = await queued(race);
    const store = await race.edited([
      {
        statement: "cancel",
        cut: "status = case when j.status = 'processing'",
        into: "status = case when present.status = 'processing'",
      },
    ]);
    const held = await race.begin();
    await claimFor(held.store, job);
    const cancelled = cancelJob(store, job.id);
    const refused = expect(cancelled).rejects.toThrow("SQLSTATE 23514");
    await race.waiting(1);
    await held.commit();

    await refused;
  });
});
