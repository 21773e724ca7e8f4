/** Comparing the database with QStash: what either side says, and what a difference is. */

import type { JobStatus } from "./job.js";
import type { Log } from "./log-events.js";
import type { Message } from "./message.js";
import type { StoreHealth } from "./ports.js";

/** A message in QStash's records that leads to this deployment's processor. */
export interface RecordedMessage {
  messageId: string;
  /** Null where the body is none of our messages. */
  message: Message | null;
  /** False where QStash does not show the body at all. */
  isReadable: boolean;
}

/** A message that QStash has given up on. */
export interface DeadMessage extends RecordedMessage {
  dlqId: string;
  createdAtMs: number;
  /** What was answered last; undefined when nobody did. */
  responseStatus: number | undefined;
}

/** States of QStash's log that a comparison asks for. */
export type RecordedState = "CREATED" | "FAILED" | "CANCELED";

/** What QStash remembers of this deployment's messages; those of others are never among them. */
export interface TriggerRecords {
  /** Newest first; `isComplete` is false when a bound stopped the reading. */
  deadMessages(): Promise<{ messages: DeadMessage[]; isComplete: boolean }>;
  /** Deletes by id and nothing else; an id that is gone already is no fault. */
  deleteDeadMessages(dlqIds: string[]): Promise<void>;
  /** Messages that came into the state since then; all of them since `completeSinceMs`. */
  logged(
    state: RecordedState,
    sinceMs: number,
  ): Promise<{ messages: RecordedMessage[]; completeSinceMs: number }>;
}

/** What the database says of a job that a message names. */
export interface JobTrace {
  jobId: string;
  type: string;
  status: JobStatus;
  seq: number;
  /** When its present message was sent, by the database's clock; null: known not to be. */
  triggeredAtMs: number | null;
}

/** Statements of a comparison; they are apart so that no deployment carries them. */
export interface ReconcileStore {
  health(): Promise<StoreHealth>;
  /** Jobs of the ids that are there. */
  traceJobs(jobIds: string[]): Promise<JobTrace[]>;
  /** Longest due first: waiting, published, and neither too recently nor too long ago to judge. */
  findOverdue(
    unpublishedTypes: string[],
    bounds: { settleSeconds: number; lookBackSeconds: number },
    limit: number,
  ): Promise<{ nowMs: number; jobs: JobTrace[]; tooOld: number }>;
  /** Due jobs that are known not to be published and may be; counts no further than `limit`. */
  countUnpublished(unpublishedTypes: string[], limit: number): Promise<number>;
  /** Marks jobs whose message is gone as not published, with a new seq; gives those it could. */
  replaceMessages(messages: Pick<Message, "jobId" | "seq">[]): Promise<string[]>;
}

export type DifferenceKind =
  /** The job waits, and QStash has given up on its message. */
  | "dead_message"
  /** The job is due, and QStash has no message for it that could still come. */
  | "lost_message"
  /** QStash keeps a dead letter whose job has ended or has a newer message. */
  | "spent_dead_letter"
  /** QStash keeps a dead letter for a job that is not in this database. */
  | "unknown_job"
  /** QStash keeps a dead letter for our processor that is none of our messages. */
  | "foreign_message"
  /** Due jobs wait for a sweep to publish them, and no sweep comes. */
  | "not_published";

/** Something that is on one side and not on the other; members that do not apply are absent. */
export interface Difference {
  kind: DifferenceKind;
  detail: string;
  /** False: a human has to look; `repair` leaves it alone. */
  isRepairable: boolean;
  jobId?: string;
  type?: string;
  seq?: number;
  messageId?: string;
  dlqId?: string;
}

export interface Comparison {
  differences: Difference[];
  examined: { deadMessages: number; dueJobs: number; loggedMessages: number };
  /** What could not be judged, and why, in sentences. */
  unjudged: string[];
  /** Sweeps should have come and have not. */
  sweepsAreSilent: boolean;
}

/** What the verbs of a comparison work with. */
export interface ReconcilePorts {
  store: ReconcileStore;
  records: TriggerRecords;
  log: Log;
  /** Types that are never published. */
  unpublishedTypes: string[];
  settings: {
    sweepIntervalSeconds: number;
    sweepMaxSeconds: number;
    retentionDays: number;
    deadLetterRetentionDays: number;
  };
}
