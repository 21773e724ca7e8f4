/** States a job can be in, what may change it there, and every call that waits for its row. */

import { randomUUID } from "node:crypto";
import type { AttemptReport, ClaimedAttempt, ClaimOutcome } from "../../src/core/attempt.js";
import type { NewJob, Store } from "../../src/core/ports.js";
import type { Race } from "./race.js";
import {
  attemptOf,
  COMPLETED,
  cancelJob,
  expire,
  FATAL,
  finishAs,
  RETRY,
  redeliver,
  replayJob,
  runJobNow,
  SNOOZE,
  SWEEP_TYPES,
  TYPE,
} from "./race-jobs.js";
import { claimFor, createJobs, newJob } from "./store.js";

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
  { from: "expired", name: "swept", make: (store) => store.recoverLeases(SWEEP_TYPES, 100) },
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
  const jobs = Array.from({ length: count }, (_, n) =>
    newJob({ type: `${TYPE}.${n}`, delaySeconds: state === "later" ? 3600 : 0 }),
  );
  await createJobs(race.direct, jobs);
  const cases = await Promise.all(jobs.map((job) => bring(race.direct, job, state)));
  if (state === "expired") await expire(race);
  return cases;
}

async function bring(store: Store, job: NewJob, state: State): Promise<CaseJob> {
  const messageId = `msg_${job.id}`;
  const jobId = job.id;
  const nobody = { jobId, lockToken: randomUUID(), attempt: 1, leaseSeconds: 60 };
  if (state === "cancelled") await cancelJob(store, jobId);
  if (["queued", "later", "cancelled"].includes(state))
    return { jobId, messageId, attempt: nobody };
  const attempt = attemptOf(await claimFor(store, job, { messageId }));
  if (state === "failed") await finishAs(store, attempt, RETRY);
  if (state === "dead") await finishAs(store, attempt, FATAL);
  return { jobId, messageId, attempt };
}
