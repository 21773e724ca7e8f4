/** Statements that hand out messages: what was handed out and not heard of is handed out again. */

import { describe, expect, test } from "vitest";
import type { Wakeup } from "../../src/core/job.js";
import type { Store } from "../../src/core/ports.js";
import type { Take } from "../../src/core/sweep.js";
import { setUpRace } from "../support/race.js";
import { expired, queued, running, SWEEP_TYPES } from "../support/race-jobs.js";
import { claimFor, newTake } from "../support/store.js";

const race = setUpRace();

interface TakeCall {
  statement: string;
  /** Makes a job that the call takes. */
  prepare: () => Promise<string>;
  /** The seq of the message that is handed out. */
  seq: number;
  call: (store: Store, take: Take, jobId: string) => Promise<Wakeup[]>;
}

async function unpublished(): Promise<string> {
  const job = await queued(race);
  await race.direct.markUnpublished([{ jobId: job.id, seq: 1 }]);
  return job.id;
}

const CALLS: TakeCall[] = [
  {
    statement: "take-unpublished",
    prepare: unpublished,
    seq: 1,
    call: (store, take) => store.takeUnpublished(take),
  },
  {
    statement: "take-nudged",
    prepare: unpublished,
    seq: 1,
    call: (store, take, jobId) => store.takeNudged([jobId], take),
  },
  {
    statement: "take-vanished",
    prepare: async () => {
      const job = await queued(race);
      await race.database.advance(700);
      await running(race, { priority: 9 });
      return job.id;
    },
    seq: 2,
    call: (store, take) => store.takeVanished(take),
  },
  {
    statement: "probe-silent-types",
    prepare: async () => {
      const job = await queued(race);
      await race.database.advance(61);
      return job.id;
    },
    seq: 2,
    call: (store, take) => store.probeSilentTypes(take),
  },
  {
    statement: "recover-leases",
    prepare: async () => (await expired(race)).jobId,
    seq: 2,
    call: async (store, take) => (await store.recoverLeases(SWEEP_TYPES, take)).wakeups,
  },
];

describe("a take that is repeated", () => {
  test.each(CALLS)("$statement gives its messages again when its answer was lost", async (each) => {
    const jobId = await each.prepare();
    race.database.neon.setFault({ action: "lose-answer", nth: 1 });

    const again = await each.call(race.store, newTake(), jobId);
    expect(again).toMatchObject([{ jobId, seq: each.seq }]);
    expect(await race.job(jobId)).toMatchObject({ trigger_seq: each.seq });
  });

  test.each(CALLS)("$statement waits for its first try, and gives what that took", async (each) => {
    const jobId = await each.prepare();
    const take = newTake();
    const first = await race.begin();
    expect(await each.call(first.store, take, jobId)).toMatchObject([{ jobId, seq: each.seq }]);
    const second = each.call(race.store, take, jobId);
    await race.waiting(1);
    await first.commit();

    expect(await second).toMatchObject([{ jobId, seq: each.seq }]);
    expect(await race.job(jobId)).toMatchObject({ trigger_seq: each.seq });
  });

  test.each(CALLS)("$statement does its work when its first try is rolled back", async (each) => {
    const jobId = await each.prepare();
    const take = newTake();
    const first = await race.begin();
    await each.call(first.store, take, jobId);
    const second = each.call(race.store, take, jobId);
    await race.waiting(1);
    await first.rollback();

    expect(await second).toMatchObject([{ jobId, seq: each.seq }]);
  });

  test("takes no second batch: what is beyond the limit waits for another take", async () => {
    const jobs = [await unpublished(), await unpublished()];
    const take = newTake(1);
    const [first] = await race.store.takeUnpublished(take);

    expect(await race.store.takeUnpublished(take)).toMatchObject([{ jobId: first?.jobId }]);
    const [other] = await race.store.takeUnpublished(newTake());
    expect(new Set([first?.jobId, other?.jobId])).toEqual(new Set(jobs));
  });

  test("shares out no second allowance of repeated messages", async () => {
    const jobs = [await queued(race), await queued(race)];
    await race.database.advance(700);
    await running(race, { priority: 9 });
    const take = newTake(1);
    const [first] = await race.store.takeVanished(take);
    const state = await race.rows("select * from type_state");
    await race.database.advance(1);

    expect(await race.store.takeVanished(take)).toMatchObject([{ jobId: first?.jobId, seq: 2 }]);
    expect(await race.rows("select * from type_state")).toEqual(state);
    expect(jobs.map(({ id }) => id)).toContain(first?.jobId);
  });

  test("gives no message of a job that runs, or whose publish was written down as failed", async () => {
    const [claimed, failed] = [await unpublished(), await unpublished()];
    const take = newTake();
    expect(await race.store.takeUnpublished(take)).toHaveLength(2);
    await claimFor(race.direct, { id: claimed, type: SWEEP_TYPES[0]?.type ?? "" });
    await race.direct.markUnpublished([{ jobId: failed, seq: 1 }]);

    // Its first batch is gone, so this is a take like any other.
    expect(await race.store.takeUnpublished(take)).toMatchObject([{ jobId: failed, seq: 1 }]);
  });
});

describe("control", () => {
  test.each(CALLS)(
    "without its branch for them, a repeated $statement leaves messages that nobody publishes",
    async ({ statement, prepare, call }) => {
      const jobId = await prepare();
      const store = await race.edited([{ statement, cut: "union all select * from again" }]);
      const take = newTake();
      expect(await call(store, take, jobId)).toHaveLength(1);

      expect(await call(store, take, jobId)).toEqual([]);
      expect((await race.job(jobId)).triggered_at).not.toBeNull();
    },
  );

  test.each(CALLS)(
    "without its wait, a $statement that is repeated too soon leaves them as well",
    async ({ statement, prepare, call }) => {
      const jobId = await prepare();
      const cut = "pg_advisory_xact_lock";
      const edits = [{ statement: `${statement}: wait`, cut, into: "to_hex" }];
      const take = newTake();
      const first = await race.begin(edits);
      expect(await call(first.store, take, jobId)).toHaveLength(1);
      const second = call(await race.edited(edits), take, jobId);
      if (statement === "take-vanished") await race.waiting(1);
      else expect(await second).toEqual([]);
      await first.commit();

      expect(await second).toEqual([]);
      expect((await race.job(jobId)).triggered_at).not.toBeNull();
    },
  );
});
