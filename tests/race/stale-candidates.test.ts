import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { setUpRace } from "../support/race.js";
import {
  CLAIM,
  CLAIM_DUE,
  gate,
  LEASES,
  PERMIT,
  PROBE,
  PRUNE,
  REPLAY_MANY,
  type Step,
  type Subject,
  UNPUBLISHED,
  VANISHED,
} from "../support/race-gates.js";
import {
  attemptOf,
  COMPLETED,
  cancelJob,
  deadLetter,
  expired,
  FATAL,
  finishAs,
  queued,
  RETRY,
  redeliver,
  replayJob,
  running,
} from "../support/race-jobs.js";
import { createCall, send } from "../support/race-requests.js";

/**
 * Statements that skip locked rows never wait for one. To change a row between their snapshot and
 * their lock, they are stopped at a gate in the search for their rows; the rest is as in production.
 */
const race = setUpRace();

interface Case {
  name: string;
  step: Step;
  prepare: () => Promise<Subject>;
  change: (job: Subject) => Promise<unknown>;
  answer: unknown;
  row: Record<string, unknown>;
}

const nothingRecovered = { failed: 0, deadLettered: 0, cancelled: 0, wakeups: [] };
const due = async (): Promise<Subject> => subject((await queued(race)).id);
const unpublished = async () => {
  const job = await due();
  await race.store.markUnpublished([{ jobId: job.jobId, seq: 1 }]);
  return job;
};
const overdue = async () => {
  const job = await due();
  await race.database.advance(700);
  await running(race, { priority: 9 });
  return job;
};
const silent = async () => {
  const job = await due();
  await race.database.advance(61);
  return job;
};
const old = async () => {
  const attempt = await deadLetter(race);
  await race.database.advance(15 * 86_400);
  return attempt;
};

const taken = (job: Subject) => redeliver(race.store, job, { seq: 9 });
const cancelled = (job: Subject) => cancelJob(race.store, job.jobId);
const completed = (job: Subject) => finishAs(race.store, job, COMPLETED);
const takenAndFailed = async (job: Subject) =>
  finishAs(race.store, attemptOf(await taken(job)), RETRY);
const replayed = (job: Subject) => replayJob(race.store, job.jobId);
/** Behind the clock of the statement at the gate, which began earlier. */
const takenAndExpired = async (job: Subject) => {
  await taken(job);
  await race.rows("update jobs set lock_until = now() - interval '2 minutes' where id = $1", [
    job.jobId,
  ]);
};

const CASES: Case[] = [
  {
    name: "a lease that was finished since a sweep saw it stays finished",
    step: LEASES,
    prepare: () => expired(race),
    change: completed,
    answer: nothingRecovered,
    row: { status: "completed" },
  },
  {
    name: "a lease that was taken over since a sweep saw it stays with its new holder",
    step: LEASES,
    prepare: () => expired(race),
    change: taken,
    answer: nothingRecovered,
    row: { status: "processing", attempts: 2 },
  },
  {
    name: "a lease that its heartbeat extended since a sweep saw it is left alone",
    step: LEASES,
    prepare: () => expired(race),
    change: (job) => race.store.heartbeat(job, undefined),
    answer: nothingRecovered,
    row: { status: "processing", attempts: 1 },
  },
  {
    name: "a cancel request that came since a sweep saw the lease decides how it ends",
    step: LEASES,
    prepare: () => expired(race),
    change: cancelled,
    answer: { ...nothingRecovered, cancelled: 1 },
    row: { status: "cancelled", next_run_at: null },
  },
  {
    name: "a lease that ran out again under a newer attempt is recovered as that attempt",
    step: LEASES,
    prepare: () => expired(race, { maxAttempts: 2 }),
    change: takenAndExpired,
    answer: { ...nothingRecovered, deadLettered: 1 },
    row: { status: "dead_letter", attempts: 2 },
  },
  {
    name: "an unpublished job that was claimed since a sweep saw it is not published",
    step: UNPUBLISHED,
    prepare: unpublished,
    change: taken,
    answer: [],
    row: { status: "processing", triggered_at: null },
  },
  {
    name: "an unpublished job that failed since a sweep saw it has a newer message already",
    step: UNPUBLISHED,
    prepare: unpublished,
    change: takenAndFailed,
    answer: [],
    row: { status: "failed", trigger_seq: 2 },
  },
  {
    name: "an unpublished job whose newer message failed too is published with the newer seq",
    step: UNPUBLISHED,
    prepare: unpublished,
    change: async (job) => {
      await takenAndFailed(job);
      await race.store.markUnpublished([{ jobId: job.jobId, seq: 2 }]);
    },
    answer: [{ seq: 2, attempts: 1 }],
    row: { status: "failed", trigger_seq: 2 },
  },
  {
    name: "an overdue job that was claimed since a sweep saw it is not published again",
    step: VANISHED,
    prepare: overdue,
    change: taken,
    answer: [],
    row: { status: "processing", trigger_seq: 1 },
  },
  {
    name: "an overdue job that failed since a sweep saw it keeps the message of its retry",
    step: VANISHED,
    prepare: overdue,
    change: takenAndFailed,
    answer: [],
    row: { status: "failed", trigger_seq: 2 },
  },
  {
    name: "a job that was cancelled since a sweep chose it as probe is not published",
    step: PROBE,
    prepare: silent,
    change: cancelled,
    answer: [],
    row: { status: "cancelled", trigger_seq: 1 },
  },
  {
    name: "a named job that another delivery took since this one saw it is not run twice",
    step: CLAIM,
    prepare: due,
    change: taken,
    answer: { kind: "locked", named: true },
    row: { status: "processing", attempts: 1 },
  },
  {
    name: "a named job that was cancelled since its delivery saw it is not run",
    step: CLAIM,
    prepare: due,
    change: cancelled,
    answer: { kind: "locked", named: true },
    row: { status: "cancelled", attempts: 0 },
  },
  {
    name: "a named job whose last attempt began and died since its delivery saw it is ended",
    step: CLAIM,
    prepare: async () => subject((await queued(race, { maxAttempts: 1 })).id),
    change: takenAndExpired,
    answer: { kind: "ended", status: "dead_letter" },
    row: { status: "dead_letter", attempts: 1 },
  },
  {
    name: "an expired named job that was cancelled since its delivery saw it ends as cancelled",
    step: CLAIM,
    prepare: () => expired(race),
    change: cancelled,
    answer: { kind: "ended", status: "cancelled" },
    row: { status: "cancelled", attempts: 1 },
  },
  {
    name: "a job that was taken since a delivery chose it as the longest due is not run twice",
    step: PERMIT,
    prepare: async () => {
      const done = await running(race);
      await finishAs(race.store, done, COMPLETED);
      await queued(race);
      return done;
    },
    change: async () => redeliver(race.store, await waitingJob()),
    answer: { kind: "locked", named: false },
    row: { status: "completed", attempts: 1 },
  },
  {
    name: "a job that was taken since a sweep chose to run it is not run twice",
    step: CLAIM_DUE,
    prepare: due,
    change: taken,
    answer: null,
    row: { status: "processing", attempts: 1 },
  },
  {
    name: "a dead letter that was replayed since a bulk replay saw it is not replayed twice",
    step: REPLAY_MANY,
    prepare: () => deadLetter(race),
    change: replayed,
    answer: { matched: 1, replayed: 0, skipped: 1, wakeups: [] },
    row: { status: "queued", trigger_seq: 2 },
  },
  {
    name: "a dead letter that was replayed and died again is replayed with a budget from there",
    step: REPLAY_MANY,
    prepare: () => deadLetter(race),
    change: async (job) => {
      await replayed(job);
      await finishAs(race.store, attemptOf(await taken(job)), FATAL);
    },
    answer: { matched: 1, replayed: 1, skipped: 0, wakeups: [{ seq: 3 }] },
    row: { status: "queued", attempts: 2, attempts_before_replay: 2 },
  },
  {
    name: "a job that was replayed since retention saw it is kept",
    step: PRUNE,
    prepare: old,
    change: replayed,
    answer: 0,
    row: { status: "queued" },
  },
];

test.each(CASES)("$name", async ({ step, prepare, change, answer, row }) => {
  const job = await prepare();
  const store = await race.edited([step.edit]);
  const closed = await race.closeGate();
  const answered = step.call(store, job);
  await race.waiting(1);
  await change(job);
  await closed.commit();

  if (typeof answer === "object" && answer) expect(await answered).toMatchObject(answer);
  else expect(await answered).toBe(answer);
  expect(await race.job(job.jobId)).toMatchObject(row);
});

test("an idempotency record that was renewed since a purge saw it is kept", async () => {
  const idempotencyKey = randomUUID();
  await send(race.store, createCall([{}], { idempotencyKey, ttlHours: 1 }));
  await race.database.advance(3601);
  const store = await race.edited([gate("purge-idempotency-records", "expires_at <= now() order")]);
  const closed = await race.closeGate();
  const purged = store.purgeIdempotencyRecords(10);
  await race.waiting(1);
  await send(race.store, createCall([{}], { idempotencyKey }));
  await closed.commit();

  expect(await purged).toBe(0);
  expect(await race.count("idempotency_records where response_json is not null")).toBe(1);
});

function subject(jobId: string): Subject {
  return { jobId, lockToken: randomUUID(), attempt: 1, leaseSeconds: 60 };
}

async function waitingJob(): Promise<Subject> {
  const [row] = await race.rows<{ id: string }>(
    "select id from jobs where next_run_at is not null",
  );
  return subject(row?.id ?? "");
}
