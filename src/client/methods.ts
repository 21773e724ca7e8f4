/** What a client can do. */

import type {
  AcceptedJob,
  EndedJob,
  Job,
  JobFilter,
  JobOptions,
  JobPage,
  JobRequest,
  JobSummary,
  JobType,
  PayloadOf,
} from "./jobs.js";

export interface CallOptions {
  /** Ends the call at once, waits included; the signal's reason is thrown. */
  signal?: AbortSignal;
}

export interface KeyedOptions extends CallOptions {
  /**
   * Makes repeated calls one: the same key with the same jobs creates them once. Made for each call
   * when left out; give one that outlives your process if your own caller may repeat.
   */
  idempotencyKey?: string;
}

export interface EnqueueOptions extends JobOptions, KeyedOptions {}

export interface GetOptions extends CallOptions {
  /** Whole seconds, up to 25: answers as soon as the job has ended, at the latest after these. */
  waitSeconds?: number;
}

export interface WaitOptions extends CallOptions {
  /** Ends the wait with `wait_timeout`; without it only the signal does. */
  timeoutSeconds?: number;
}

export interface ReasonOptions extends CallOptions {
  /** Kept in the job's timeline. */
  reason?: string;
}

export interface ReplayOptions<Jobs> extends ReasonOptions {
  /** Replaces the payload. */
  payload?: PayloadOf<Jobs[JobType<Jobs>]>;
}

/** Every method throws `AntreanError`. */
export interface Client<Jobs> {
  /** Creates one job; however often it is sent, under one idempotency key. */
  enqueue<Type extends JobType<Jobs>>(
    type: Type,
    payload: PayloadOf<Jobs[Type]>,
    options?: EnqueueOptions,
  ): Promise<AcceptedJob>;

  /**
   * Creates many jobs, in batches of up to 500; the answers are in the order of the jobs.
   *
   * A batch is accepted whole or not at all. When one fails, those before it stay accepted: call
   * again with the same jobs and the error's `idempotencyKey`, and only the rest is created.
   */
  enqueueMany(jobs: readonly JobRequest<Jobs>[], options?: KeyedOptions): Promise<AcceptedJob[]>;

  get(jobId: string, options?: GetOptions): Promise<Job>;

  /** Gives every job that fits, newest first; requests a page when the loop gets there. */
  list(filter?: JobFilter<Jobs>, options?: CallOptions): AsyncGenerator<JobSummary, void>;

  /** Gives one page, for lists that people leaf through. */
  listPage(filter?: JobFilter<Jobs> & { cursor?: string }, options?: CallOptions): Promise<JobPage>;

  /** Gives the job when it has ended, however it ended; survives outages of some minutes. */
  waitFor(jobId: string, options?: WaitOptions): Promise<EndedJob>;

  /** Cancels a job that waits; a running one is asked to stop and has `cancelRequested`. */
  cancel(jobId: string, options?: ReasonOptions): Promise<Job>;

  /** Starts a dead letter or a cancelled job anew, under its id. Sent once: two are two replays. */
  replay(jobId: string, options?: ReplayOptions<Jobs>): Promise<Job>;

  /** Makes a job due that waits for a later time. Sent once: it may be waiting again by then. */
  runNow(jobId: string, options?: ReasonOptions): Promise<Job>;
}
