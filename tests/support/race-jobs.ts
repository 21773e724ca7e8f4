/** Jobs in every state, brought there by the production statements. */

import { randomUUID } from "node:crypto";
import type {
  AttemptReport,
  ClaimedAttempt,
  ClaimOutcome,
  FinishRequest,
} from "../../src/core/attempt.js";
import type { OperatorAction } from "../../src/core/operations.js";
import type { NewJob, Store } from "../../src/core/ports.js";
import type { SweepType } from "../../src/core/sweep.js";
import type { Race } from "./race.js";
import { claimFor, createJobs, newJob } from "./store.js";

export const TYPE = "test.script";
export const LEASE_SECONDS = 60;

/** What sweeps know of the one type; without jitter, so that times can be told. */
export const SWEEP_TYPES: SweepType[] = [
  {
    type: TYPE,
    publish: true,
    leaseSeconds: LEASE_SECONDS,
    delays: [30, 60, 120],
    jitterSeconds: 0,
  },
];

export const COMPLETED: AttemptReport = {
  kind: "completed",
  result: { sent: true },
  resultOmitted: null,
};
export const RETRY: AttemptReport = {
  kind: "retry",
  delaySeconds: 30,
  code: "handler_error",
  message: "no luck",
};
export const FATAL: AttemptReport = { kind: "fatal", code: "fatal", message: "never" };
export const SNOOZE: AttemptReport = { kind: "snooze", delaySeconds: 0 };

/** An operator's action of its own. */
export const action = (options: Partial<OperatorAction> = {}): OperatorAction => ({
  actionId: randomUUID(),
  actor: { tenant: "acme", keyName: "acme" },
  reason: null,
  ...options,
});

/** A job that is due. */
export async function queued(race: Race, options: Partial<NewJob> = {}): Promise<NewJob> {
  const job = newJob({ type: TYPE, ...options });
  await createJobs(race.direct, [job]);
  return job;
}

/** A job whose attempt runs under a live lease. */
export async function running(
  race: Race,
  options: Partial<NewJob> & { messageId?: string } = {},
): Promise<ClaimedAttempt> {
  const { messageId, ...job } = options;
  return attemptOf(
    await claimFor(race.direct, await queued(race, job), messageId ? { messageId } : {}),
  );
}

/** A job whose attempt let its lease run out. */
export async function expired(
  race: Race,
  options: Partial<NewJob> & { messageId?: string } = {},
): Promise<ClaimedAttempt> {
  const attempt = await running(race, options);
  await expire(race);
  return attempt;
}

/** Lets every lease of this moment run out. */
export const expire = (race: Race): Promise<void> => race.database.advance(LEASE_SECONDS + 1);

/** A job that ended as a dead letter. */
export async function deadLetter(race: Race, options: Partial<NewJob> = {}) {
  const attempt = await running(race, options);
  await finishAs(race.direct, attempt, FATAL);
  return attempt;
}

/** Reports how an attempt ended. */
export function finishAs(
  store: Store,
  attempt: Pick<ClaimedAttempt, "jobId" | "lockToken" | "attempt">,
  report: AttemptReport,
  options: Partial<FinishRequest> = {},
) {
  const { jobId, lockToken, attempt: number } = attempt;
  return store.finish({ jobId, lockToken, attempt: number, report, publish: true, ...options });
}

/** Claims for another message that names the attempt's job. */
export const redeliver = (
  store: Store,
  attempt: Pick<ClaimedAttempt, "jobId">,
  options: Parameters<typeof claimFor>[2] = {},
) => claimFor(store, { id: attempt.jobId, type: TYPE }, options);

/** The attempt of a claim that must have succeeded. */
export function attemptOf(outcome: ClaimOutcome): ClaimedAttempt {
  if (outcome.kind !== "claimed") throw new Error(`not claimed: ${JSON.stringify(outcome)}`);
  return outcome.attempt;
}

/** Cancels, replays or moves a job with an action of its own. */
export const cancelJob = (store: Store, jobId: string) => store.cancel(jobId, action());
export const replayJob = (store: Store, jobId: string) =>
  store.replay(jobId, action(), { unpublishedTypes: [] });
export const runJobNow = (store: Store, jobId: string) =>
  store.runNow(jobId, action(), { unpublishedTypes: [] });
