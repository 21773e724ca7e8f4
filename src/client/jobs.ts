/** Jobs as this client takes and gives them, and how a payload is known by its type. */

import type { JobStatus, Json, Job as StoredJob, TerminalStatus } from "../core/job.js";

export type { JobStatus, Json, TerminalStatus };

/** What a client accepts when nobody told it which job types there are. */
export type AnyJobs = Record<string, unknown>;

/** The names of the job types. */
export type JobType<Jobs> = keyof Jobs & string;

/**
 * The payload that a job type takes, from its definition or given as it is.
 *
 * Read through the Standard Schema interface, so that callers without zod can use these types.
 */
export type PayloadOf<Known> = Known extends { payload: { "~standard": { types?: infer Sides } } }
  ? NonNullable<Sides> extends { input: infer Payload }
    ? Payload
    : never
  : Known;

/** The map from type to definition of a list of definitions: `JobsOf<typeof jobs>`. */
export type JobsOf<Definitions extends readonly { type: string }[]> = {
  [Definition in Definitions[number] as Definition["type"]]: Definition;
};

/** How and when a job runs; what is left out is decided by its type. */
export interface JobOptions {
  /** At most one active job of the type has this key; others get that job's id. */
  dedupeKey?: string;
  /** Due time, with a zone if it is a text; the past is now. Not together with `delaySeconds`. */
  runAt?: Date | string;
  delaySeconds?: number;
  /** 0 to 9; 9 runs first. */
  priority?: number;
  maxAttempts?: number;
}

/** One job of `enqueueMany`. */
export type JobRequest<Jobs = AnyJobs> = {
  [Type in JobType<Jobs>]: JobOptions & { type: Type; payload: PayloadOf<Jobs[Type]> };
}[JobType<Jobs>];

/** The answer to an enqueued job: it is stored and will run. */
export interface AcceptedJob {
  jobId: string;
  status: JobStatus;
  /** True when an active job already had the dedupe key; `jobId` is that job's. */
  deduplicated: boolean;
  statusUrl: string;
}

/** A job; instants are RFC 3339 in UTC, absent values null. */
export type Job = Omit<StoredJob, "tenant">;

/** A job that changes only by replay. */
export type EndedJob = Job & { status: TerminalStatus };

/** A job in a list. */
export type JobSummary = Omit<Job, "payload" | "result" | "progress">;

/** Which jobs to list; everything given must hold. */
export interface JobFilter<Jobs = AnyJobs> {
  status?: JobStatus | readonly JobStatus[];
  type?: JobType<Jobs> | readonly JobType<Jobs>[];
  dedupeKey?: string;
  createdAfter?: Date | string;
  createdBefore?: Date | string;
  /** Jobs per request, 1 to 200; it changes how many requests are made, not what is listed. */
  pageSize?: number;
}

/** A part of a list, newest jobs first. */
export interface JobPage {
  items: JobSummary[];
  /** Continues the list; null at its end. */
  nextCursor: string | null;
}
