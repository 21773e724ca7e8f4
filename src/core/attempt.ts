/** An attempt from its claim to its finish, with its effects. */

import type { JobStatus, Json, Wakeup } from "./job.js";

/** What a delivery asks of the claim (section "What a delivery may claim" of the architecture). */
export interface ClaimRequest {
  jobId: string;
  type: string;
  seq: number;
  lockToken: string;
  /** `Upstash-Message-Id`; chooses only among answers that are safe anyway. */
  messageId: string | null;
  /** A message whose job does not exist may still run another job of its type. */
  unknownIsPermit: boolean;
  /** Lease by type in seconds; a type that is missing gets the default. */
  leases: Readonly<Record<string, number>>;
}

/** An attempt that holds its job's lock token. */
export interface ClaimedAttempt {
  jobId: string;
  tenant: string;
  type: string;
  payload: Json;
  lockToken: string;
  attempt: number;
  /** Attempts of the present budget that count, this one included. */
  budgetUsed: number;
  maxAttempts: number;
  triggerSeq: number;
  leaseSeconds: number;
  cancelRequested: boolean;
  /** Seconds between due time and claim; null for a repeated claim, which cannot tell any more. */
  waitedSeconds: number | null;
  traceparent: string | null;
}

export type ClaimOutcome =
  | { kind: "claimed"; attempt: ClaimedAttempt; repeated: boolean }
  /** The lease had expired and the job ended instead of running again. */
  | { kind: "ended"; jobId: string; status: "dead_letter" | "cancelled" }
  | { kind: "not_due"; waitSeconds: number; wakeup: Wakeup }
  | { kind: "running_own"; leaseSecondsLeft: number }
  | { kind: "noop"; reason: "finished" | "running" | "recorded" | "paused" | "nothing_due" }
  /** A due job's row is locked at this moment; `named` when it is the one the delivery names. */
  | { kind: "locked"; named: boolean }
  | { kind: "unknown" };

/** How an attempt ended, as the engine reports it. */
export type AttemptReport =
  | { kind: "completed"; result: Json; resultOmitted: string | null }
  | {
      kind: "retry";
      delaySeconds: number;
      code: string;
      message: string;
      /** Stopped as it was asked to: no error, where the job becomes cancelled. */
      isCancel?: boolean;
    }
  | { kind: "fatal"; code: string; message: string }
  | { kind: "snooze"; delaySeconds: number }
  | { kind: "unknown_type"; delaySeconds: number };

export interface FinishRequest {
  jobId: string;
  lockToken: string;
  attempt: number;
  report: AttemptReport;
  /** What the claim told; kept with the attempt, for the histogram of waits. */
  waitedSeconds?: number | null;
  /** False for types that are never published (`runsOn: "worker"`). */
  publish: boolean;
}

export type FinishOutcome =
  | { kind: "recorded"; status: JobStatus; wakeup: Wakeup | null }
  /** Somebody else took the lease; the result is kept as the lost attempt's late outcome. */
  | { kind: "lease_lost" }
  | { kind: "gone" };

export type HeartbeatOutcome =
  | { kind: "extended"; cancelRequested: boolean }
  | { kind: "lease_lost" };

export type EffectBegin =
  | { kind: "run" }
  | { kind: "done"; result: Json }
  | { kind: "unknown" }
  | { kind: "cancelled" }
  | { kind: "lease_lost" };

export interface EffectRef {
  jobId: string;
  lockToken: string;
  name: string;
}

export type EffectEnd =
  | { kind: "done"; result: Json; trace: Json }
  | { kind: "not_done"; trace: Json }
  | { kind: "unknown"; trace: Json };
