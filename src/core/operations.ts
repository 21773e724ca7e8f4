/** What operators do to jobs and types, and what comes of it. */

import type { Job, Json, Wakeup } from "./job.js";

/** What an operator says why; kept with the job's history. */
export const REASON_LENGTH_MAX = 500;
/** Dead letters that one bulk replay takes. */
export const REPLAY_LIMIT = { default: 500, max: 5000 } as const;
/** The jobs of a bulk replay become due evenly over at most so long. */
export const REPLAY_SPREAD_SECONDS_MAX = 86_400;
export const ERROR_CODE_LENGTH_MAX = 64;

/** Who acts: `tenant` null sees every tenant (admin); `keyName` is written into events. */
export interface Actor {
  tenant: string | null;
  keyName: string;
}

export interface OperatorAction {
  /** Made by the caller, so that a repeated statement finds its own action. */
  actionId: string;
  actor: Actor;
  reason: string | null;
}

export type CancelOutcome =
  | { kind: "cancelled" | "requested"; job: Job }
  | { kind: "not_cancellable"; job: Job }
  | { kind: "not_found" };

export type ReplayOutcome =
  | { kind: "replayed"; job: Job; wakeup: Wakeup | null }
  | { kind: "not_replayable"; job: Job }
  | { kind: "dedupe_conflict"; activeJobId: string }
  | { kind: "not_found" };

export type RunNowOutcome =
  | { kind: "moved"; job: Job; wakeup: Wakeup | null }
  | { kind: "not_waiting"; job: Job }
  | { kind: "not_found" };

export interface ReplayFilter {
  type?: string;
  errorCode?: string;
  createdAfter?: string;
  createdBefore?: string;
  limit: number;
  spreadSeconds: number;
}

export interface BulkReplay {
  matched: number;
  replayed: number;
  skipped: number;
  /** The jobs to publish at once; the rest is left to the next sweeps. */
  wakeups: Wakeup[];
}

export type Settlement = { outcome: "done"; result: Json } | { outcome: "not_done" };

export type SettleOutcome = { kind: "settled" } | { kind: "not_unknown" } | { kind: "not_found" };

export interface TypeState {
  type: string;
  pausedAt: string | null;
  pausedBy: string | null;
  pauseReason: string | null;
}
