/** What operators do to jobs and types, and what comes of it. */

import type { Job, Json, Wakeup } from "./job.js";

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
