/** Raw rows to core types. */

import type { Job, Wakeup } from "../core/job.js";

/** A row of `wakeupColumns`. */
export interface WakeupRow {
  job_id: string;
  job_type: string;
  attempts: number;
  trigger_seq: number;
  due_in_seconds: number;
  due_at_epoch_seconds: number;
  traceparent: string | null;
}

/** Reads a row of `wakeupColumns`. */
export function toWakeup(row: WakeupRow): Wakeup {
  return {
    jobId: row.job_id,
    type: row.job_type,
    attempts: row.attempts,
    seq: row.trigger_seq,
    dueInSeconds: row.due_in_seconds,
    dueAtEpochSeconds: row.due_at_epoch_seconds,
    traceparent: row.traceparent,
  };
}

/** Reads an object of `jobJson`, whose members have the API's names already. */
export function toJob(job: unknown): Job {
  return job as Job;
}
