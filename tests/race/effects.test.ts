import { describe, expect, test } from "vitest";
import type { EffectRef } from "../../src/core/attempt.js";
import { setUpRace } from "../support/race.js";
import {
  action,
  attemptOf,
  cancelJob,
  expired,
  FATAL,
  finishAs,
  redeliver,
  running,
} from "../support/race-jobs.js";

const race = setUpRace();
const DONE = { kind: "done", result: "receipt 1", trace: null } as const;
const NOT_DONE = { kind: "not_done", trace: null } as const;

const charge = ({ jobId, lockToken }: Pick<EffectRef, "jobId" | "lockToken">): EffectRef => ({
  jobId,
  lockToken,
  name: "charge",
});

const effectOf = async (jobId: string) =>
  (
    await race.rows<{ state: string; lock_token: string; result_json: unknown }>(
      "select * from job_effects where job_id = $1",
      [jobId],
    )
  )[0];

describe("the begin of an effect and a takeover", () => {
  test.each([
    { end: "commit" as const, kind: "lease_lost", effects: 0 },
    { end: "rollback" as const, kind: "run", effects: 1 },
  ])("a begin that waits for the takeover ($end) gives: $kind", async ({ end, kind, effects }) => {
    const lost = await expired(race);
    const held = await race.begin();
    await redeliver(held.store, lost);
    const begin = race.store.beginEffect(charge(lost), true);
    await race.waiting(1);
    await held[end]();

    expect(await begin).toEqual({ kind });
    expect(await race.count("job_effects")).toBe(effects);
  });

  test("a lease cannot be taken over at the moment in which an effect begins under it", async () => {
    const attempt = await expired(race);
    const held = await race.begin();
    await held.store.beginEffect(charge(attempt), true);

    expect(await redeliver(race.store, attempt)).toEqual({ kind: "locked", named: true });
    await held.commit();

    // The lease is still run out: the newer attempt finds the effect without a known end.
    const takeover = attemptOf(await redeliver(race.store, attempt));
    expect(await race.store.beginEffect(charge(takeover), false)).toEqual({ kind: "unknown" });
  });

  test.each([
    { end: "commit" as const, kind: "cancelled" },
    { end: "rollback" as const, kind: "run" },
  ])("a begin that waits for a cancel ($end) gives: $kind", async ({ end, kind }) => {
    const attempt = await running(race);
    const held = await race.begin();
    await cancelJob(held.store, attempt.jobId);
    const begin = race.store.beginEffect(charge(attempt), true);
    await race.waiting(1);
    await held[end]();

    expect(await begin).toEqual({ kind });
  });

  test("a begin whose answer was lost is answered with run again, and stays one effect", async () => {
    const attempt = await running(race);
    race.database.neon.setFault({ action: "lose-answer", nth: 1 });

    expect(await race.store.beginEffect(charge(attempt), false)).toEqual({ kind: "run" });
    expect(await race.count("job_effects where state = 'started'")).toBe(1);
  });
});

describe("the end of an effect after a takeover", () => {
  test("a known done is kept although the lease was lost, and is not run again", async () => {
    const lost = await expired(race);
    await race.store.beginEffect(charge(lost), true);
    const takeover = attemptOf(await redeliver(race.store, lost));

    expect(await race.store.endEffect(charge(lost), DONE)).toBe(true);
    expect(await race.store.beginEffect(charge(takeover), true)).toEqual({
      kind: "done",
      result: "receipt 1",
    });
  });

  test("a done that is being recorded is waited for by the newer attempt, which does not run it", async () => {
    const lost = await expired(race);
    await race.store.beginEffect(charge(lost), true);
    const takeover = attemptOf(await redeliver(race.store, lost));
    const held = await race.begin();
    await held.store.endEffect(charge(lost), DONE);
    const begin = race.store.beginEffect(charge(takeover), true);
    await race.waiting(1);
    await held.commit();

    expect(await begin).toEqual({ kind: "done", result: "receipt 1" });
    expect(await effectOf(lost.jobId)).toMatchObject({ state: "done", lock_token: lost.lockToken });
  });

  test("when that record is rolled back, the newer attempt runs the effect", async () => {
    const lost = await expired(race);
    await race.store.beginEffect(charge(lost), true);
    const takeover = attemptOf(await redeliver(race.store, lost));
    const held = await race.begin();
    await held.store.endEffect(charge(lost), DONE);
    const begin = race.store.beginEffect(charge(takeover), true);
    await race.waiting(1);
    await held.rollback();

    expect(await begin).toEqual({ kind: "run" });
    expect(await effectOf(lost.jobId)).toMatchObject({ lock_token: takeover.lockToken });
  });

  test.each([DONE, NOT_DONE])(
    "a late $kind that waits for the newer attempt's begin does not overwrite it",
    async (end) => {
      const lost = await expired(race);
      await race.store.beginEffect(charge(lost), true);
      const takeover = attemptOf(await redeliver(race.store, lost));
      const held = await race.begin();
      expect(await held.store.beginEffect(charge(takeover), true)).toEqual({ kind: "run" });
      const late = race.store.endEffect(charge(lost), end);
      await race.waiting(1);
      await held.commit();

      expect(await late).toBe(false);
      expect(await effectOf(lost.jobId)).toMatchObject({
        state: "started",
        lock_token: takeover.lockToken,
      });
    },
  );

  test("an end whose answer was lost is recorded once and answered as done", async () => {
    const attempt = await running(race);
    await race.store.beginEffect(charge(attempt), true);
    race.database.neon.setFault({ action: "lose-answer", nth: 1 });

    expect(await race.store.endEffect(charge(attempt), DONE)).toBe(true);
    expect(await effectOf(attempt.jobId)).toMatchObject({ state: "done" });
  });
});

describe("an operator who settles an effect", () => {
  async function unknownEffect() {
    const attempt = await running(race);
    await race.store.beginEffect(charge(attempt), false);
    await finishAs(race.store, attempt, FATAL);
    return attempt;
  }
  const settle = (store: typeof race.store, jobId: string) =>
    store.settleEffect(jobId, "charge", { outcome: "not_done" }, action());

  test("waits for the record of its end, and leaves it as it is", async () => {
    const lost = await unknownEffect();
    const held = await race.begin();
    await held.store.endEffect(charge(lost), DONE);
    const settled = settle(race.store, lost.jobId);
    await race.waiting(1);
    await held.commit();

    expect(await settled).toEqual({ kind: "not_unknown" });
    expect(await effectOf(lost.jobId)).toMatchObject({ state: "done", result_json: "receipt 1" });
  });

  test("of two who settle one effect at once, one does", async () => {
    const { jobId } = await unknownEffect();
    const held = await race.begin();
    expect(await settle(held.store, jobId)).toEqual({ kind: "settled" });
    const second = settle(race.store, jobId);
    await race.waiting(1);
    await held.commit();

    expect(await second).toEqual({ kind: "not_unknown" });
    expect(await race.count("job_events where kind = 'settled'")).toBe(1);
  });

  test("waits for a claim that is under way, and does not settle what its attempt begins again", async () => {
    const lost = await expired(race);
    await race.store.beginEffect(charge(lost), true);
    const held = await race.begin();
    const takeover = attemptOf(await redeliver(held.store, lost));
    await held.store.beginEffect(charge(takeover), true);
    const settled = settle(race.store, lost.jobId);
    await race.waiting(1);
    await held.commit();

    expect(await settled).toEqual({ kind: "not_unknown" });
    expect(await effectOf(lost.jobId)).toMatchObject({ state: "started" });
  });

  test("a settlement whose answer was lost is answered as settled, and noted once", async () => {
    const { jobId } = await unknownEffect();
    race.database.neon.setFault({ action: "lose-answer", nth: 1 });

    expect(await settle(race.store, jobId)).toEqual({ kind: "settled" });
    expect(await race.count("job_events where kind = 'settled'")).toBe(1);
  });
});
