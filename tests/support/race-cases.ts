/** States a job can be in, what may change it there, and every call that waits for its row. */

import { randomUUID } from "node:crypto";
import type { AttemptReport, ClaimedAttempt, ClaimOutcome } from "../../src/core/attempt.js";
import type { Store } from "../../src/core/ports.js";
import type { Race } from "./race.js";
import {
  attemptOf,
  COMPLETED,
  cancelJob,
  expire,
  FATAL,
  finishAs,
  LEASE_SECONDS,
  RETRY,
  redeliver,
  replayJob,
  runJobNow,
  SNOOZE,
  SWEEP_TYPES,
  TYPE,
} from "./race-jobs.js";
import { createJobs, newJob, newTake } from "./store.js";

/** A job with the attempt that it has or had; a job without one gets a token that nobody holds. */
export interface CaseJob {
  jobId: string;
  messageId: string;
  attempt: Pick<ClaimedAttempt, "jobId" | "lockToken" | "attempt" | "leaseSeconds">;
}

type State = "queued" | "later" | "failed" | "processing" | "expired" | "dead" | "cancelled";
export interface Change {
  from: State;
  name: string;
  make: (store: Store, job: CaseJob) => Promise<unknown>;
}

const claim = async (store: Store, { jobId }: CaseJob) =>
  attemptOf(await redeliver(store, { jobId }, { seq: 9 }));
const finishedAs = (report: AttemptReport) => (store: Store, job: CaseJob) =>
  finishAs(store, job.attempt, report);

/** What may happen to a job while a call waits for its row. */
export const CHANGES: Change[] = [
  { from: "queued", name: "claimed", make: claim },
  { from: "queued", name: "cancelled", make: (store, { jobId }) => cancelJob(store, jobId) },
  {
    from: "queued",
    name: "claimed and failed",
    make: async (store, job) => finishAs(store, await claim(store, job), RETRY),
  },
  {
    from: "queued",
    name: "claimed and completed",
    make: async (store, job) => finishAs(store, await claim(store, job), COMPLETED),
  },
  {
    from: "queued",
    name: "cancelled and replayed",
    make: async (store, { jobId }) => {
      await cancelJob(store, jobId);
      await replayJob(store, jobId);
    },
  },
  { from: "later", name: "moved to now", make: (store, { jobId }) => runJobNow(store, jobId) },
  { from: "later", name: "cancelled", make: (store, { jobId }) => cancelJob(store, jobId) },
  { from: "failed", name: "cancelled", make: (store, { jobId }) => cancelJob(store, jobId) },
  { from: "failed", name: "moved to now", make: (store, { jobId }) => runJobNow(store, jobId) },
  { from: "processing", name: "completed", make: finishedAs(COMPLETED) },
  { from: "processing", name: "failed", make: finishedAs(RETRY) },
  { from: "processing", name: "dead-lettered", make: finishedAs(FATAL) },
  { from: "processing", name: "snoozed", make: finishedAs(SNOOZE) },
  {
    from: "processing",
    name: "asked to stop",
    make: (store, { jobId }) => cancelJob(store, jobId),
  },
  { from: "expired", name: "taken over", make: claim },
  {
    from: "expired",
    name: "swept",
    make: (store) => store.recoverLeases(SWEEP_TYPES, newTake(100)),
  },
  { from: "dead", name: "replayed", make: (store, { jobId }) => replayJob(store, jobId) },
  {
    from: "dead",
    name: "replayed and claimed",
    make: async (store, job) => {
      await replayJob(store, job.jobId);
      await claim(store, job);
    },
  },
  { from: "cancelled", name: "replayed", make: (store, { jobId }) => replayJob(store, jobId) },
];

/** Every call that waits for the row of one job. */
export const CALLS: Record<string, (store: Store, job: CaseJob) => Promise<unknown>> = {
  cancel: (store, { jobId }) => cancelJob(store, jobId),
  replay: (store, { jobId }) => replayJob(store, jobId),
  runNow: (store, { jobId }) => runJobNow(store, jobId),
  complete: (store, { attempt }) => finishAs(store, attempt, COMPLETED),
  retry: (store, { attempt }) => finishAs(store, attempt, RETRY),
  fatal: (store, { attempt }) => finishAs(store, attempt, FATAL),
  snooze: (store, { attempt }) => finishAs(store, attempt, SNOOZE),
  heartbeat: (store, { attempt }) => store.heartbeat(attempt, { step: 1 }),
  beginEffect: (store, { attempt }) => store.beginEffect({ ...attempt, name: "charge" }, true),
  markHopped: (store, { jobId }) => store.markHopped(jobId, 1),
  markUnpublished: (store, { jobId }) => store.markUnpublished([{ jobId, seq: 1 }]),
};

/** The redelivery of the message that claimed a job waits too; others skip a locked row. */
export const CALLS_AFTER_CLAIM: typeof CALLS = { ...CALLS, redeliver: claimAgain };

/** As the engine does: a locked row is asked for again. */
async function claimAgain(store: Store, job: CaseJob): Promise<ClaimOutcome> {
  const { jobId, messageId } = job;
  const outcome = await redeliver(store, { jobId }, { messageId, seq: 9 });
  return outcome.kind === "locked" ? claimAgain(store, job) : outcome;
}

/** Makes jobs in a state, each of a type of its own, so that no permit runs another's job. */
export async function jobsIn(race: Race, state: State, count: number): Promise<CaseJob[]> {
  const delaySeconds = state === "later" ? 3600 : 0;
  const jobs = Array.from({ length: count }, (_, n) =>
    newJob({ type: `${TYPE}.${n}`, delaySeconds }),
  );
  await createJobs(race.direct, jobs);
  const neverClaimed = ["queued", "later", "cancelled"].includes(state);
  const tokens = new Map(neverClaimed ? [] : await claimAll(race));
  const cases = jobs.map(({ id: jobId }): CaseJob => {
    const lockToken = tokens.get(jobId) ?? randomUUID();
    const attempt = { jobId, lockToken, attempt: 1, leaseSeconds: LEASE_SECONDS };
    return { jobId, messageId: messageOf(jobId), attempt };
  });
  if (state === "cancelled") await each(cases, ({ jobId }) => cancelJob(race.direct, jobId));
  if (state === "failed") await each(cases, ({ attempt }) => finishAs(race.direct, attempt, RETRY));
  if (state === "dead") await each(cases, ({ attempt }) => finishAs(race.direct, attempt, FATAL));
  if (state === "expired") await expire(race);
  return cases;
}

const messageOf = (jobId: string) => `msg_${jobId}`;

/** By hand: so many claims, one after the other, would take most of the tier's time. */
async function claimAll(race: Race): Promise<[jobId: string, lockToken: string][]> {
  const rows = await race.rows<{ id: string; lock_token: string }>(
    `update jobs set status = 'processing', attempts = 1, lock_token = gen_random_uuid(),
       lock_until = now() + make_interval(secs => $1), claimed_by_message = $2 || id::text,
       started_at = now(), attempt_started_at = now(), next_run_at = null, next_trigger_at = null
     returning id, lock_token`,
    [LEASE_SECONDS, messageOf("")],
  );
  return rows.map(({ id, lock_token }) => [id, lock_token]);
}

const each = (cases: CaseJob[], bring: (job: CaseJob) => Promise<unknown>) =>
  Promise.all(cases.map(bring));
