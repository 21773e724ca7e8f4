/** Recurring jobs: a schedule, the slots that it comes to, and what is asked of both. */

import type { Job, Json, Wakeup } from "./job.js";

/** A schedule's name: part of a path. */
export const SCHEDULE_NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/** Owner of the schedules that job files declare; no API key can have this name. */
export const DECLARED_TENANT = "declared:";

/** What becomes of slots that no sweep was there for: nothing, or one job for all of them. */
export const MISSED_RUN_POLICIES = ["skip", "run_once"] as const;
export type MissedRunPolicy = (typeof MISSED_RUN_POLICIES)[number];

/** What recurs, and when. */
export interface Recurrence {
  /** Five fields. */
  cron: string;
  /** IANA name. */
  timeZone: string;
  type: string;
  payload: Json;
  missedRunPolicy: MissedRunPolicy;
}

/** Slots that passed without a sweep: `first` and `last` are instants, both ends included. */
export interface MissedSlots {
  first: string;
  last: string;
  count: number;
  /** There were more than anybody counted. */
  capped: boolean;
}

/** A schedule as the store gives it; instants are RFC 3339 UTC with milliseconds. */
export interface Schedule extends Recurrence {
  id: string;
  tenant: string;
  name: string;
  enabled: boolean;
  declared: boolean;
  revision: number;
  lastRunAt: string | null;
  lastMissed: MissedSlots | null;
  createdAt: string;
  updatedAt: string;
  /** The next slot as far as a sweep has worked it out. */
  plannedNextAt: string | null;
  /** Slots from here on have no job yet. */
  planFrom: string;
  /** The database's clock at this reading. */
  readAt: string;
}

/** A schedule to insert. */
export interface NewSchedule extends Recurrence {
  id: string;
  tenant: string;
  name: string;
  enabled: boolean;
}

/** Which schedule: an admin may name the tenant, where several have one of this name. */
export interface ScheduleRef {
  name: string;
  tenant: string | null;
}

export type ScheduleChange =
  | { kind: "edit"; recurrence: Recurrence; enabled: boolean | null }
  | { kind: "enable"; enabled: boolean }
  | { kind: "delete" };

export type ScheduleChangeOutcome =
  | { kind: "changed"; schedule: Schedule; jobsCancelled: number }
  | { kind: "declared" }
  | { kind: "not_found" };

/** What the store must know of a type to make its jobs. */
export interface ScheduledType {
  type: string;
  maxAttempts: number;
  publish: boolean;
}

export type RunScheduleOutcome =
  | { kind: "created"; job: Job; wakeup: Wakeup | null }
  | { kind: "unknown_job_type"; type: string }
  | { kind: "not_found" };

/** A schedule that a sweep has to look at. */
export interface DueSchedule extends Pick<Recurrence, "cron" | "timeZone" | "missedRunPolicy"> {
  id: string;
  revision: number;
  planFrom: string;
  readAt: string;
}

/** What a sweep worked out for one schedule; holds only while revision and `planFrom` stand. */
export interface SlotPlan {
  scheduleId: string;
  revision: number;
  planFrom: string;
  nextPlanFrom: string;
  slots: { jobId: string; slotAt: string }[];
  missed: MissedSlots | null;
}

/** What a sweep reads before it plans. */
export interface DueSchedules {
  schedules: DueSchedule[];
  /** False where the store's declared schedules are not those of this deployment. */
  declaredCurrent: boolean;
}
