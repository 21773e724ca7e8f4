/** The state machine as data: what each event makes of a job. The SQL statements implement it. */

import type { JobStatus } from "./job.js";

/** What can happen to a job; each is one statement in `storage/sql`. */
export const JOB_EVENTS = [
  "claimed",
  "completed",
  "failed_retryable",
  "failed_finally",
  "snoozed",
  "lease_expired",
  "cancel_asked",
  "stopped_by_cancel",
  "replayed",
] as const;
export type JobEvent = (typeof JOB_EVENTS)[number];

/** Every allowed change; a pair that is not here changes nothing. */
export const TRANSITIONS: Record<JobStatus, Partial<Record<JobEvent, JobStatus[]>>> = {
  queued: { claimed: ["processing"], cancel_asked: ["cancelled"] },
  failed: { claimed: ["processing"], cancel_asked: ["cancelled"] },
  processing: {
    completed: ["completed"],
    failed_retryable: ["failed"],
    failed_finally: ["dead_letter"],
    snoozed: ["queued"],
    // By a sweep it waits for its backoff; by a delivery it is taken over at once.
    lease_expired: ["failed", "processing", "dead_letter", "cancelled"],
    cancel_asked: ["processing"],
    stopped_by_cancel: ["cancelled"],
  },
  completed: {},
  dead_letter: { replayed: ["queued"] },
  cancelled: { replayed: ["queued"] },
};
