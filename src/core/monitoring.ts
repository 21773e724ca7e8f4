/** What is counted and how finely, and what an operator is warned of. */

import type { Stats } from "./listing.js";

/** The closed list of counters; what a label means depends on the measure. */
export const MEASURES = [
  /** Ended attempts; the label is their outcome. */
  "attempt",
  /** Attempts that ended with an error; the label is its code. */
  "error",
  /** Failed attempts that another one was to follow. */
  "retry",
  /** Jobs that gave up. */
  "dead_letter",
  /** Attempts by how long they took, and the sum of it; the label is a bound below. */
  "duration",
  "duration_ms",
  /** Attempts by how long their job had been due at the claim, and the sum of it. */
  "wait",
  "wait_ms",
  /** Deliveries that ran nothing; the label says why. */
  "delivery",
  /** Messages that the trigger did not take. */
  "publish_failure",
] as const;
export type Measure = (typeof MEASURES)[number];

/**
 * Upper bounds of histogram buckets in seconds; what lies beyond the last has the label `inf`.
 *
 * From a quick API call to a platform's longest invocation, and from "at once" to "the night was
 * too short": about three bounds to a power of ten, since each one is a row a minute for each type.
 * They may be changed: rows keep the bound that they were counted by.
 */
export const DURATION_BOUNDS_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900];
export const WAIT_BOUNDS_SECONDS = [0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 21600];
export const BEYOND_BOUNDS = "inf";

/** One counter since the beginning. */
export interface StatTotal {
  type: string;
  measure: Measure;
  label: string;
  count: number;
}

/** What is counted since the beginning, up to the latest roll-up. */
export interface StatTotals {
  /** Null before the first sweep. */
  sweptAtEpochSeconds: number | null;
  totals: StatTotal[];
}

/** What one scrape tells. */
export interface Metrics extends StatTotals {
  stats: Stats;
  /** Registered types, which are told of also while nothing happens. */
  types: string[];
}

/** What one batch of a roll-up did; `more` when a bound stopped it. */
export interface RolledUp {
  attempts: number;
  more: boolean;
}

/** From where on an operator is warned; 0 turns a warning off. */
export interface AlertThresholds {
  /** How long the longest due job of a type has been waiting. */
  backlogAgeSeconds: number;
  /** Dead letters of a type in the last hour. */
  deadLetters: number;
  /** Expired leases of a type in the last hour. */
  expiredLeases: number;
  /** Messages of any type that the trigger did not take in the last hour. */
  publishFailures: number;
}

export type AlertKind =
  | "backlog_age"
  | "dead_letters"
  | "expired_leases"
  | "publish_failures"
  | "probe_unanswered";

/** The beginning or the end of an incident, to be told once; instants are RFC 3339. */
export interface AlertNotice {
  id: string;
  phase: "opened" | "recovered";
  kind: AlertKind;
  /** Null for what concerns no single type. */
  type: string | null;
  /** What was found at the beginning. */
  value: number;
  threshold: number;
  openedAt: string;
  closedAt: string | null;
  /** The database's clock, for the signature. */
  takenAtEpochSeconds: number;
}

/** A message to the operator; the id is the same whenever it is sent again. */
export interface AlertMessage {
  id: string;
  sentAt: Date;
  body: string;
}

/** Sends one message; throws when it was not taken. */
export type SendAlert = (message: AlertMessage) => Promise<void>;

/** What the store does for counters and warnings; one method per statement. */
export interface MonitoringStore {
  /** Counts ended attempts that were not counted yet, at least `limit` of them if there are. */
  rollUpStats(limit: number): Promise<RolledUp>;
  readTotals(): Promise<StatTotals>;
  /** Deletes counted minutes and closed incidents that are too old. */
  pruneMonitoring(limit: number): Promise<number>;
  /** Opens and closes incidents, and takes up to `limit` notices for the caller to send. */
  takeAlerts(thresholds: AlertThresholds, limit: number): Promise<AlertNotice[]>;
  markAlertTold(id: string, phase: AlertNotice["phase"]): Promise<void>;
}
