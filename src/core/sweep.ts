/** What sweeps and nudges ask of the store: what waits and would not be woken up. */

import type { Wakeup } from "./job.js";

/** A sweep may be late once and fail once; the third missing one is silence. */
export const SILENT_INTERVALS = 3;

/** What the sweep must know of each registered type. */
export interface SweepType {
  type: string;
  publish: boolean;
  leaseSeconds: number;
  /** Delay by number of attempts used, without jitter; see `delayTable`. */
  delays: number[];
  jitterSeconds: number;
}

/** A batch of messages that one statement hands out. */
export interface Take {
  /** Made by the caller for this one call, so that a repeated statement finds its own batch. */
  takeId: string;
  /** Types whose messages must not be handed out. */
  unpublishedTypes: string[];
  limit: number;
}

export interface RecoveredLeases {
  failed: number;
  deadLettered: number;
  cancelled: number;
  wakeups: Wakeup[];
}

/** What the store does for them; one method per statement. */
export interface SweepStore {
  recoverLeases(types: SweepType[], take: Take): Promise<RecoveredLeases>;
  /** Marks unpublished jobs by id as published, for the caller to publish. */
  takeNudged(jobIds: string[], take: Take): Promise<Wakeup[]>;
  takeUnpublished(take: Take): Promise<Wakeup[]>;
  probeSilentTypes(take: Take): Promise<Wakeup[]>;
  takeVanished(take: Take): Promise<Wakeup[]>;
  purgeIdempotencyRecords(limit: number): Promise<number>;
  pruneJobs(
    retention: { finishedDays: number; deadLetterDays: number },
    limit: number,
  ): Promise<number>;
  recordSweep(): Promise<void>;
}
