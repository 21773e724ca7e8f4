/** What is asked of lists, timelines and statistics, and what comes back. */

import type { Job, JobStatus, Json } from "./job.js";

/** Which jobs a list holds; an empty list of states or types, and null, ask for all. */
export interface JobFilter {
  statuses: JobStatus[];
  types: string[];
  dedupeKey: string | null;
  /** RFC 3339; inclusive. */
  createdAfter: string | null;
  /** RFC 3339; exclusive. */
  createdBefore: string | null;
}

/** A place in a list: what a page ended with, or the last entry that it looked at. */
export interface ListPosition {
  /** Microseconds since 1970: Postgres's own resolution, or jobs of one millisecond get lost. */
  createdAtMicros: number;
  id: string;
}

export interface PageRequest {
  limit: number;
  /** Where the page before ended; null for the first. */
  after: ListPosition | null;
  /** About how many index entries the page may look at. */
  entriesMax: number;
}

/** A job without what may be large. */
export type JobSummary = Omit<Job, "payload" | "result" | "progress">;

export interface JobPage {
  items: JobSummary[];
  /** Null when nothing older can match. */
  next: ListPosition | null;
}

type Event<Kind extends string, More = object> = { at: string; kind: Kind } & More;
/** Who did it: the name of their key, and what they gave for a reason. */
type ByOperator = { by: string | null; reason: string | null };
/** Message cut: a timeline shows which error it was, the job itself shows all of the latest. */
type ErrorBrief = { code: string; message: string };

export type TimelineItem =
  | Event<
      "created",
      {
        /** The name of the key, which is the job's tenant. */
        by: string;
        idempotencyKey: string | null;
        /** The schedule whose slot the job fills, where that still exists. */
        schedule: string | null;
      }
    >
  | Event<
      "published",
      { seq: number | null; why: string | null; failed: boolean } & Partial<ByOperator>
    >
  | Event<"claimed", { attempt: number }>
  | Event<
      "attempt_finished",
      {
        attempt: number;
        outcome: string;
        error: ErrorBrief | null;
        /** What the attempt came back with after its lease had gone to somebody else. */
        late: { at: string; outcome: string } | null;
      }
    >
  | Event<
      "effect",
      {
        /** Null when the attempt that started it is not known any more. */
        attempt: number | null;
        name: string;
        outcome: "running" | "done" | "not_done" | "unknown";
        finishedAt: string | null;
        settledBy: string | null;
        trace: Json;
      }
    >
  | Event<
      "delivery_refused",
      {
        reason: string;
        messageId: string | null;
        /** The job that ran in its place, where the reader may see it. */
        ranJobId: string | null;
      }
    >
  | Event<"cancel_requested" | "cancelled", ByOperator>
  | Event<
      "replayed",
      ByOperator & { was: string; error: ErrorBrief | null; payloadChanged: boolean; bulk: boolean }
    >
  | Event<"settled", ByOperator & { effect: string; outcome: string }>;

export interface Timeline {
  jobId: string;
  /** Oldest first. */
  items: TimelineItem[];
  /** True when older items were left out. */
  truncated: boolean;
}

/** A count that stops somewhere: when `capped`, there may be more. */
export interface CappedCount {
  count: number;
  capped: boolean;
}

/** A job type in numbers; finished jobs are not counted, since that would read all of history. */
export interface TypeStats {
  type: string;
  paused: boolean;
  queuedDue: CappedCount;
  queuedLater: CappedCount;
  /** Waiting for the next try. */
  failed: CappedCount;
  processing: CappedCount;
  /** Of the processing ones: the lease has run out and nobody took it yet. */
  expiredLeases: CappedCount;
  deadLetters: CappedCount;
  oldestDueSeconds: number | null;
  /** Attempts that ended since `since`: an hour ago, or as far back as the count went. */
  attempts: { since: string; capped: boolean; byOutcome: Record<string, number> };
}

export interface Stats {
  at: string;
  types: TypeStats[];
}
