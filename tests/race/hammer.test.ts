import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import type { AttemptReport, ClaimedAttempt } from "../../src/core/attempt.js";
import type { Wakeup } from "../../src/core/job.js";
import { setUpRace } from "../support/race.js";
import {
  COMPLETED,
  cancelJob,
  expire,
  FATAL,
  finishAs,
  RETRY,
  redeliver,
  replayJob,
  SNOOZE,
  SWEEP_TYPES,
  TYPE,
} from "../support/race-jobs.js";
import { createJobs, newJob, newTake } from "../support/store.js";

const race = setUpRace();
const JOBS = 100;
const CLIENTS = 8;
const ROUNDS = 2;
const SEED = 4711;

interface Message {
  jobId: string;
  seq: number;
  messageId: string;
}

/** What the clients were told, to be compared with the rows. */
interface Told {
  claims: ClaimedAttempt[];
  ended: { lockToken: string; jobId: string; status: string }[];
}

test("after 100 jobs met duplicates, crashes, sweeps, cancels and replays at once, every attempt is accounted for", {
  timeout: 60_000,
}, async () => {
  const random = seededRandom(SEED);
  const jobs = Array.from({ length: JOBS }, (_, n) =>
    newJob({ type: TYPE, priority: n % 3, maxAttempts: 1 + (n % 4) }),
  );
  await createJobs(race.direct, jobs);
  const told: Told = { claims: [], ended: [] };
  let inbox = jobs.flatMap(({ id }) => twice({ jobId: id, seq: 1 }));
  for (let round = 0; round < ROUNDS; round += 1) {
    const operators = jobs.filter(() => random() < 0.15).map(({ id }) => id);
    const work = shuffled(random, [
      ...inbox.map((message) => () => deliver(message, random, told)),
      ...operators.map((id) => () => (random() < 0.5 ? cancelled(id) : replayed(id))),
      ...Array.from({ length: CLIENTS }, () => sweep),
    ]);
    const published = await byClients(work);
    await expire(race);
    const pending = await Promise.all(Array.from({ length: 3 }, sweep));
    inbox = [...published, ...pending.flat()].flatMap(twice);
  }

  await everyAttemptIsAccountedFor(told);
  await noOutcomeWasOverwritten(told);
});

/** Runs an attempt to one of its possible ends; some never report, some twice, some too late. */
async function deliver(message: Message, random: () => number, told: Told): Promise<Wakeup[]> {
  const outcome = await redeliver(race.store, message, message);
  if (outcome.kind !== "claimed") return [];
  if (!outcome.repeated) told.claims.push(outcome.attempt);
  const { attempt } = outcome;
  const chance = random();
  if (chance < 0.15) return [];
  const tries = chance < 0.3 ? 2 : 1;
  const report = pick(random, [COMPLETED, COMPLETED, RETRY, FATAL, SNOOZE]);
  const finishes = await Promise.all(Array.from({ length: tries }, () => finish(attempt, report)));
  const [finished] = finishes.filter(({ kind }) => kind === "recorded");
  if (finished?.kind !== "recorded") return [];
  expect(new Set(finishes.map((each) => each.kind === "recorded" && each.status)).size).toBe(1);
  told.ended.push({ ...attempt, status: finished.status });
  return finished.wakeup ? [finished.wakeup] : [];
}

const finish = (attempt: ClaimedAttempt, report: AttemptReport) =>
  finishAs(race.store, attempt, report);

async function cancelled(jobId: string): Promise<Wakeup[]> {
  await cancelJob(race.store, jobId);
  return [];
}

async function replayed(jobId: string): Promise<Wakeup[]> {
  const outcome = await replayJob(race.store, jobId);
  return outcome.kind === "replayed" && outcome.wakeup ? [outcome.wakeup] : [];
}

async function sweep(): Promise<Wakeup[]> {
  const { wakeups } = await race.store.recoverLeases(SWEEP_TYPES, newTake(20));
  const unpublished = await race.store.takeUnpublished(newTake(20));
  const vanished = await race.store.takeVanished(newTake(20));
  const probes = await race.store.probeSilentTypes(newTake(20));
  return [...wakeups, ...unpublished, ...vanished, ...probes];
}

async function everyAttemptIsAccountedFor({ claims }: Told): Promise<void> {
  const started = claims.map(({ jobId, attempt }) => `${jobId} ${attempt}`);
  expect(new Set(started).size).toBe(started.length);
  expect(await race.rows("select sum(attempts)::int as sum from jobs")).toEqual([
    { sum: claims.length },
  ]);
  const faults = `
    select 'attempts without history' as fault, id from jobs where attempts <>
      (select count(*) from job_attempts where job_id = jobs.id) + (lock_token is not null)::int
    union all
    select 'a number twice', job_id from job_attempts group by job_id, number having count(*) > 1
    union all
    select 'a live token in the history', id from jobs
      join job_attempts a on a.job_id = id and a.lock_token = jobs.lock_token
    union all
    select 'over its budget', id from jobs
      where attempts - snoozes - attempts_before_replay > max_attempts
    union all
    select 'waits for nothing', id from jobs where next_run_at is not null and triggered_at is null`;
  expect(await race.rows(faults)).toEqual([]);
}

async function noOutcomeWasOverwritten({ ended }: Told): Promise<void> {
  const history = await race.rows<{ lock_token: string; outcome: string }>(
    "select lock_token, outcome from job_attempts",
  );
  const outcomes = new Map(history.map(({ lock_token, outcome }) => [lock_token, outcome]));
  for (const { lockToken, status } of ended) {
    expect(outcomes.get(lockToken)).toBe(status === "queued" ? "snoozed" : status);
  }
  const completed = ended.filter(({ status }) => status === "completed").map(({ jobId }) => jobId);
  expect(new Set(completed).size).toBe(completed.length);
  expect(await race.count("jobs where status = 'completed'")).toBe(completed.length);
}

async function byClients(work: (() => Promise<Wakeup[]>)[]): Promise<Wakeup[]> {
  const published: Wakeup[] = [];
  const client = async () => {
    for (let next = work.pop(); next; next = work.pop()) published.push(...(await next()));
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return published;
}

/** A message and its duplicate, which has the same id. */
function twice({ jobId, seq }: Pick<Wakeup, "jobId" | "seq">): Message[] {
  const messageId = `msg_${randomUUID()}`;
  return [
    { jobId, seq, messageId },
    { jobId, seq, messageId },
  ];
}

function pick<T>(random: () => number, from: [T, ...T[]]): T {
  return from[Math.floor(random() * from.length)] ?? from[0];
}

function shuffled<T>(random: () => number, items: T[]): T[] {
  return items
    .map((item) => ({ item, at: random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ item }) => item);
}

/** The same numbers in every run; only what the database interleaves differs. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
