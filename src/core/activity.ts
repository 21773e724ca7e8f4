/** What happened lately, counted for charts, and what came of bulk replays and of dead letters. */

import type { JobStatus } from "./job.js";
import type { Measure } from "./monitoring.js";

/** What charts count: measures of the roll-ups, and which attempt of its job each one was. */
export type ActivityMeasure = Extract<Measure, "attempt" | "duration" | "wait"> | "number";

/** A count of one bucket for all types, or of one type for all buckets: the other is null. */
export interface ActivityFact {
  bucket: number | null;
  type: string | null;
  measure: ActivityMeasure;
  /** An outcome, an upper bound in seconds, or the number of the attempt. */
  label: string;
  count: number;
}

/** A stretch of time in equal buckets, the last of which is still being filled. */
export interface Buckets {
  count: number;
  seconds: number;
}

export interface ActivityCounts {
  sinceEpochSeconds: number;
  facts: ActivityFact[];
}

export interface RecentActivity extends ActivityCounts {
  /** True where a type had more attempts than were read. */
  capped: boolean;
  /** Null before the first sweep. */
  sweepAgeSeconds: number | null;
}

/** Dead letters of one type that ended with one error code. */
export interface DeadLetterGroup {
  type: string;
  code: string;
  count: number;
  firstAt: string;
  lastAt: string;
  /** The latest of them. */
  exampleId: string;
  exampleMessage: string;
}

export interface DeadLetterGroups {
  groups: DeadLetterGroup[];
  /** True when there are more dead letters than were read: the newest ones. */
  capped: boolean;
}

/** How far the jobs of one bulk replay are, by status. */
export type ReplayProgress = Partial<Record<JobStatus, number>>;

/** What the store reads for pages; one method per statement. */
export interface ActivityStore {
  /** Reads the roll-ups, which hold all tenants' attempts up to the latest sweep. */
  readHistory(buckets: Buckets): Promise<ActivityCounts>;
  /** Reads the newest attempts of each type, at most so many, of those that an actor may see. */
  readRecent(tenant: string | null, buckets: Buckets, attemptsMax: number): Promise<RecentActivity>;
  groupDeadLetters(tenant: string | null, lettersMax: number): Promise<DeadLetterGroups>;
  readReplay(actionId: string, tenant: string | null): Promise<ReplayProgress>;
}
