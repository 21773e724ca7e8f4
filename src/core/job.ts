/** The words of the field as types: a job, its states, and what an attempt can come to. */

/** Any value that JSON can carry; what payloads, results and progress are made of. */
export type Json = string | number | boolean | null | Json[] | { [member: string]: Json };

export const JOB_STATUSES = [
  "queued",
  "processing",
  "completed",
  "failed",
  "dead_letter",
  "cancelled",
] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

export const TERMINAL_STATUSES = ["completed", "dead_letter", "cancelled"] as const;
export type TerminalStatus = (typeof TERMINAL_STATUSES)[number];

/** Tells whether a job in this state has ended and changes only by replay (I10). */
export function isTerminal(status: JobStatus): status is TerminalStatus {
  return (TERMINAL_STATUSES as readonly JobStatus[]).includes(status);
}

/** A type's name: stored for ever with its jobs, so never reuse one for other work. */
export const JOB_TYPE_PATTERN = /^[a-z][a-z0-9_.]{0,62}$/;
/** An effect's name: part of a path and of a downstream idempotency key. */
export const EFFECT_NAME_PATTERN = /^[A-Za-z0-9._-]{1,100}$/;

export const PRIORITY_MAX = 9;
export const MAX_ATTEMPTS_BOUNDS = { min: 1, max: 50, default: 8 } as const;
/** In code points, as schemas count; not in UTF-16 units. */
export const DEDUPE_KEY_LENGTH_MAX = 255;
/** One year: QStash's longest delay on paid plans; beyond it a date is more likely a mistake. */
export const RUN_AT_DAYS_MAX = 365;
/** A snoozing job must end at some time; a thousand invocations is a day of minute-long steps. */
export const SNOOZES_MAX = 1000;
/** Type unknown at run time: an hour of one-minute waits covers a rolling deployment. */
export const UNKNOWN_TYPE_ATTEMPTS_MAX = 60;
export const UNKNOWN_TYPE_DELAY_SECONDS = 60;
/** Results and effect results beyond this belong in the caller's own storage. */
export const RESULT_BYTES_MAX = 65_536;
/** Cut stored error text here: enough for a stack, small enough for a list. */
export const ERROR_TEXT_BYTES_MAX = 8_192;

/** The error that ended the latest failed attempt; `at` is an RFC 3339 instant. */
export interface JobError {
  code: string;
  message: string;
  retryable: boolean;
  at: string;
}

/** A job as the store gives it; instants are RFC 3339 UTC with milliseconds, absent values null. */
export interface Job {
  id: string;
  tenant: string;
  type: string;
  status: JobStatus;
  priority: number;
  payload: Json;
  result: Json;
  resultOmitted: string | null;
  progress: Json;
  attempts: number;
  attemptsLeft: number;
  maxAttempts: number;
  dedupeKey: string | null;
  lastError: JobError | null;
  cancelRequested: boolean;
  nextRunAt: string | null;
  lockedUntil: string | null;
  startedAt: string | null;
  finishedAt: string | null;
  createdAt: string;
  updatedAt: string;
}

/** A message still to be published: a wake-up call for one job, made unique by `seq`. */
export interface Wakeup {
  jobId: string;
  type: string;
  attempts: number;
  seq: number;
  /** Seconds until the job is due at the database's clock; 0 or less means now. */
  dueInSeconds: number;
  /** The job's due time as seconds since 1970 at the database's clock. */
  dueAtEpochSeconds: number;
  traceparent: string | null;
}
