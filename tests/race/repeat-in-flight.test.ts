import { describe, expect, test } from "vitest";
import type { OperatorAction } from "../../src/core/operations.js";
import type { Store } from "../../src/core/ports.js";
import { setUpRace } from "../support/race.js";
import {
  action,
  deadLetter,
  FATAL,
  finishAs,
  queued,
  RETRY,
  running,
  TYPE,
} from "../support/race-jobs.js";

const race = setUpRace();

interface OperatorCall {
  name: string;
  kind: string;
  prepare: () => Promise<string>;
  call: (store: Store, jobId: string, asked: OperatorAction) => Promise<{ kind: string }>;
}

const CALLS: OperatorCall[] = [
  {
    name: "a cancel of a waiting job",
    kind: "cancelled",
    prepare: async () => (await queued(race)).id,
    call: (store, jobId, asked) => store.cancel(jobId, asked),
  },
  {
    name: "a cancel of a running job",
    kind: "requested",
    prepare: async () => (await running(race)).jobId,
    call: (store, jobId, asked) => store.cancel(jobId, asked),
  },
  {
    name: "a replay",
    kind: "replayed",
    prepare: async () => (await deadLetter(race)).jobId,
    call: (store, jobId, asked) => store.replay(jobId, asked, { unpublishedTypes: [] }),
  },
  {
    name: "a run-now",
    kind: "moved",
    prepare: async () => (await queued(race, { delaySeconds: 3600 })).id,
    call: (store, jobId, asked) => store.runNow(jobId, asked, { unpublishedTypes: [] }),
  },
  {
    name: "a settlement",
    kind: "settled",
    prepare: async () => {
      const attempt = await running(race);
      await race.store.beginEffect({ ...attempt, name: "charge" }, false);
      await finishAs(race.store, attempt, FATAL);
      return attempt.jobId;
    },
    call: (store, jobId, asked) =>
      store.settleEffect(jobId, "charge", { outcome: "not_done" }, asked),
  },
];

describe("an operator's call that is repeated while its first try is under way", () => {
  test.each(CALLS)(
    "$name answers as its first try, and is noted once",
    async ({ kind, prepare, call }) => {
      const jobId = await prepare();
      const asked = action();
      const first = await race.begin();
      expect(await call(first.store, jobId, asked)).toMatchObject({ kind });
      const second = call(race.store, jobId, asked);
      await race.waiting(1);
      await first.commit();

      expect(await second).toMatchObject({ kind });
      expect(await race.count("job_events where action_id = $1", [asked.actionId])).toBe(1);
    },
  );

  test.each(CALLS)(
    "$name does its work when its first try is rolled back",
    async ({ kind, prepare, call }) => {
      const jobId = await prepare();
      const asked = action();
      const first = await race.begin();
      await call(first.store, jobId, asked);
      const second = call(race.store, jobId, asked);
      await race.waiting(1);
      await first.rollback();

      expect(await second).toMatchObject({ kind });
      expect(await race.count("job_events where action_id = $1", [asked.actionId])).toBe(1);
    },
  );

  test.each(CALLS)(
    "$name whose answer was lost answers as its first try, and is noted once",
    async ({ kind, prepare, call }) => {
      const jobId = await prepare();
      const asked = action();
      race.database.neon.setFault({ action: "lose-answer", nth: 1 });

      expect(await call(race.store, jobId, asked)).toMatchObject({ kind });
      expect(await race.count("job_events where action_id = $1", [asked.actionId])).toBe(1);
    },
  );

  test("a bulk replay replays nothing twice, though its counts may be those of the repeat", async () => {
    const { jobId } = await deadLetter(race);
    const asked = action();
    const first = await race.begin();
    const filter = { limit: 10, spreadSeconds: 0 };
    const options = { publishMax: 10, unpublishedTypes: [] };
    await first.store.replayMany(filter, asked, options);
    const answer = await race.store.replayMany(filter, asked, options);
    await first.commit();

    expect(answer).toMatchObject({ matched: 1, replayed: 0, skipped: 1 });
    expect(await race.store.replayMany(filter, asked, options)).toMatchObject({ replayed: 1 });
    expect(await race.job(jobId)).toMatchObject({ status: "queued", trigger_seq: 2 });
  });

  test("a pause keeps the time and reason of its first try", async () => {
    const first = await race.begin();
    const { pausedAt } = await first.store.setTypePaused(TYPE, true, action({ reason: "one" }));
    const second = race.store.setTypePaused(TYPE, true, action({ reason: "two" }));
    await race.waiting(1);
    await first.commit();

    expect(await second).toMatchObject({ pausedAt, pauseReason: "one" });
  });
});

describe("an attempt's call that is repeated while its first try is under way", () => {
  test("the begin of an effect answers run again", async () => {
    const attempt = await running(race);
    const first = await race.begin();
    await first.store.beginEffect({ ...attempt, name: "charge" }, false);
    const second = race.store.beginEffect({ ...attempt, name: "charge" }, false);
    await race.waiting(1);
    await first.commit();

    expect(await second).toEqual({ kind: "run" });
    expect(await race.count("job_effects")).toBe(1);
  });

  test("the end of an effect is recorded once", async () => {
    const attempt = await running(race);
    const done = { kind: "done", result: 1, trace: null } as const;
    await race.store.beginEffect({ ...attempt, name: "charge" }, false);
    const first = await race.begin();
    await first.store.endEffect({ ...attempt, name: "charge" }, done);
    const second = race.store.endEffect({ ...attempt, name: "charge" }, done);
    await race.waiting(1);
    await first.commit();

    expect(await second).toBe(true);
  });

  test("eight finishes at once record one outcome, and none is late", async () => {
    const attempt = await running(race);
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, () => finishAs(race.store, attempt, RETRY)),
    );

    expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(["recorded"]));
    expect(await race.attempts(attempt.jobId)).toMatchObject([
      { outcome: "failed", late_outcome: null },
    ]);
    expect(await race.job(attempt.jobId)).toMatchObject({ trigger_seq: 2 });
  });
});
