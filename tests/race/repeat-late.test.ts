import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { setUpRace } from "../support/race.js";
import {
  action,
  attemptOf,
  finishAs,
  queued,
  RETRY,
  running,
  SWEEP_TYPES,
  TYPE,
} from "../support/race-jobs.js";
import { claimFor, createJobs, newJob, newTake } from "../support/store.js";

const race = setUpRace();

describe("a call whose first try arrives after everything has moved on", () => {
  test("a claim with the token of an ended attempt takes no job with it", async () => {
    const job = await queued(race);
    const lockToken = randomUUID();
    const first = attemptOf(await claimFor(race.store, job, { lockToken, messageId: null }));
    await finishAs(race.store, first, RETRY);
    await race.database.advance(31);

    const late = await claimFor(race.store, job, { lockToken, messageId: null, seq: 2 });
    expect(late).toEqual({ kind: "locked", named: true });
    expect(await race.attempts(job.id)).toMatchObject([{ outcome: "failed", late_outcome: null }]);
    expect(await claimFor(race.store, job, { seq: 2 })).toMatchObject({ kind: "claimed" });
  });

  test("a cancel, followed by another one, answers as its first try did and is noted once", async () => {
    const attempt = await running(race);
    const mine = action();
    const first = await race.begin();
    await first.store.cancel(attempt.jobId, mine);
    const repeat = race.store.cancel(attempt.jobId, mine);
    await race.waiting(1);
    await first.store.cancel(attempt.jobId, action());
    await first.commit();

    expect(await repeat).toMatchObject({ kind: "requested" });
    expect(await race.count("job_events where action_id = $1", [mine.actionId])).toBe(1);
  });
});

test("a probe whose job is locked is neither sent nor counted", async () => {
  const job = await queued(race);
  await race.database.advance(61);
  const held = await race.begin();
  await claimFor(held.store, job);
  expect(await race.store.probeSilentTypes(newTake())).toEqual([]);
  expect(await race.count("type_state")).toBe(0);
  await held.rollback();

  expect(await race.store.probeSilentTypes(newTake())).toMatchObject([{ jobId: job.id, seq: 2 }]);
});

test("a worker takes its types in the order in which it was given them, whatever their priorities", async () => {
  const other = newJob({ type: "race.other", priority: 9 });
  const first = newJob({ type: TYPE, priority: 0 });
  await createJobs(race.direct, [other, first]);
  const [type] = SWEEP_TYPES;
  if (!type) throw new Error("there is a type");
  const types = [type, { ...type, type: "race.other" }];

  expect(await race.store.claimDue(types, randomUUID())).toMatchObject({ jobId: first.id });
  expect(await race.store.claimDue(types, randomUUID())).toMatchObject({ jobId: other.id });
});
