/** Tables, CHECKs and indexes: what must never be cannot be stored. */

import { sql } from "drizzle-orm";
import {
  boolean,
  check,
  doublePrecision,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  smallint,
  text,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import { instant } from "./columns.js";

export { alerts, jobStats, statTotals, sweepState } from "./monitoring-schema.js";
export { schedules } from "./schedule-schema.js";

/** Rows that fit no state, or no budget, cannot be stored. */
const JOB_CHECKS = [
  check("jobs_due_iff_waiting", sql`(status in ('queued', 'failed')) = (next_run_at is not null)`),
  check("jobs_wakeup_iff_waiting", sql`(next_run_at is null) = (next_trigger_at is null)`),
  check(
    "jobs_lock_iff_processing",
    sql`(status = 'processing') = (lock_token is not null) and (status = 'processing') = (lock_until is not null)`,
  ),
  check(
    "jobs_finished_iff_terminal",
    sql`(status in ('completed', 'dead_letter', 'cancelled')) = (finished_at is not null)`,
  ),
  check(
    "jobs_attempts_counted",
    sql`attempts_before_replay >= 0 and snoozes >= 0 and attempts >= attempts_before_replay + snoozes
        and attempts - snoozes - attempts_before_replay <= max_attempts`,
  ),
  check(
    "jobs_waiting_has_budget",
    sql`status not in ('queued', 'failed') or attempts - snoozes - attempts_before_replay < max_attempts`,
  ),
  check(
    "jobs_processing_was_counted",
    sql`status <> 'processing' or (attempts > attempts_before_replay and started_at is not null and attempt_started_at is not null)`,
  ),
  check(
    "jobs_waiting_not_cancelled",
    sql`status not in ('queued', 'failed') or cancel_requested_at is null`,
  ),
  check(
    "jobs_failure_has_error",
    sql`status not in ('failed', 'dead_letter') or last_error is not null`,
  ),
  check(
    "jobs_result_only_completed",
    sql`status = 'completed' or (result_json is null and result_omitted is null)`,
  ),
  check("jobs_priority_in_range", sql`priority between 0 and 9`),
  check("jobs_max_attempts_in_range", sql`max_attempts between 1 and 50`),
  check("jobs_dedupe_until_known", sql`dedupe_until in ('finished', 'started')`),
  check(
    "jobs_slot_whole",
    sql`(schedule_id is null) = (slot_at is null) and (schedule_id is null) = (schedule_revision is null)`,
  ),
];

/** One durable job; the columns come in the order in which an operator reads `select *`. */
export const jobs = pgTable(
  "jobs",
  {
    id: uuid("id").primaryKey(),
    status: text("status").notNull(),
    jobType: text("job_type").notNull(),
    tenant: text("tenant").notNull(),
    priority: smallint("priority").notNull(),
    attempts: integer("attempts").notNull().default(0),
    maxAttempts: integer("max_attempts").notNull(),
    attemptsBeforeReplay: integer("attempts_before_replay").notNull().default(0),
    snoozes: integer("snoozes").notNull().default(0),
    nextRunAt: instant("next_run_at"),
    lockUntil: instant("lock_until"),
    lockToken: uuid("lock_token"),
    claimedByMessage: text("claimed_by_message"),
    cancelRequestedAt: instant("cancel_requested_at"),
    /** The latest operator action: its repeat must know it from the row, events may be too new. */
    lastActionId: uuid("last_action_id"),
    createdAt: instant("created_at").notNull(),
    startedAt: instant("started_at"),
    attemptStartedAt: instant("attempt_started_at"),
    finishedAt: instant("finished_at"),
    updatedAt: instant("updated_at").notNull(),
    lastError: jsonb("last_error"),
    payloadJson: jsonb("payload_json").notNull(),
    resultJson: jsonb("result_json"),
    resultOmitted: text("result_omitted"),
    progressJson: jsonb("progress_json"),
    idempotencyKey: text("idempotency_key"),
    dedupeKey: text("dedupe_key"),
    dedupeUntil: text("dedupe_until").notNull().default("finished"),
    // I7 by construction: the slot exists exactly while the key is taken.
    dedupeSlot: text("dedupe_slot").generatedAlwaysAs(sql`case
      when status in ('queued', 'processing', 'failed')
        and (dedupe_until = 'finished' or attempts = attempts_before_replay)
      then dedupe_key end`),
    triggerSeq: integer("trigger_seq").notNull().default(1),
    triggeredAt: instant("triggered_at"),
    nextTriggerAt: instant("next_trigger_at"),
    /** The statement that last handed out its message; null for most jobs, which need no sweep. */
    takeId: uuid("take_id"),
    traceparent: text("traceparent"),
    // Null for all jobs but those that a schedule made, so that other jobs pay nothing for them.
    scheduleId: uuid("schedule_id"),
    scheduleRevision: integer("schedule_revision"),
    slotAt: instant("slot_at"),
  },
  (t) => [
    check(
      "jobs_status_known",
      sql`${t.status} in ('queued', 'processing', 'completed', 'failed', 'dead_letter', 'cancelled')`,
    ),
    ...JOB_CHECKS,
    // The claim probes each priority by equality, so rows scheduled for later are never walked over.
    index("jobs_due").on(t.jobType, t.priority, t.nextRunAt).where(sql`next_run_at is not null`),
    index("jobs_lease").on(t.lockUntil).where(sql`lock_until is not null`),
    uniqueIndex("jobs_lock_token").on(t.lockToken).where(sql`lock_token is not null`),
    index("jobs_claimed_by_message")
      .on(t.claimedByMessage)
      .where(sql`claimed_by_message is not null`),
    index("jobs_unpublished")
      .on(t.jobType, t.nextRunAt)
      .where(sql`triggered_at is null and next_run_at is not null`),
    // A repeated take looks for the jobs that its first try took.
    index("jobs_taken").on(t.takeId).where(sql`take_id is not null and next_run_at is not null`),
    index("jobs_wakeup").on(t.jobType, t.nextTriggerAt).where(sql`next_trigger_at is not null`),
    uniqueIndex("jobs_dedupe_slot")
      .on(t.tenant, t.jobType, t.dedupeSlot)
      .where(sql`dedupe_slot is not null`),
    index("jobs_trouble")
      .on(t.tenant, t.status, t.createdAt, t.id)
      .where(sql`status in ('failed', 'dead_letter', 'cancelled')`),
    index("jobs_list_by_key")
      .on(t.tenant, t.dedupeKey, t.createdAt, t.id)
      .where(sql`dedupe_key is not null`),
    index("jobs_list").on(t.tenant, t.createdAt, t.id),
    index("jobs_list_by_type").on(t.tenant, t.jobType, t.createdAt, t.id),
    index("jobs_finished").on(t.finishedAt).where(sql`finished_at is not null`),
    uniqueIndex("jobs_schedule_slot")
      .on(t.scheduleId, t.scheduleRevision, t.slotAt)
      .where(sql`schedule_id is not null`),
    // What an edit of the schedule cancels, however much of its history is still kept.
    index("jobs_schedule_unstarted")
      .on(t.scheduleId)
      .where(sql`schedule_id is not null and status = 'queued' and attempts = 0`),
  ],
);

/** The stored response of an accepted request; text, since jsonb would reorder its members. */
export const idempotencyRecords = pgTable(
  "idempotency_records",
  {
    tenant: text("tenant").notNull(),
    operation: text("operation").notNull(),
    idempotencyKey: text("idempotency_key").notNull(),
    requestHash: text("request_hash").notNull(),
    owner: uuid("owner").notNull(),
    resourceType: text("resource_type"),
    resourceId: uuid("resource_id"),
    responseStatus: smallint("response_status"),
    responseJson: text("response_json"),
    createdAt: instant("created_at").notNull(),
    expiresAt: instant("expires_at").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.tenant, t.operation, t.idempotencyKey] }),
    check(
      "idempotency_records_whole_response",
      sql`(response_status is null) = (response_json is null)`,
    ),
    // Only accepted requests are remembered; a refusal inside the create batch rolls it back here.
    check("idempotency_records_accepted", sql`response_status between 200 and 299`),
    index("idempotency_records_expiry").on(t.expiresAt),
  ],
);

/** History: one row per ended attempt, written with its finish or by whoever took its lease. */
export const jobAttempts = pgTable(
  "job_attempts",
  {
    jobId: uuid("job_id").notNull(),
    lockToken: uuid("lock_token").notNull(),
    number: integer("number").notNull(),
    jobType: text("job_type").notNull(),
    startedAt: instant("started_at").notNull(),
    finishedAt: instant("finished_at").notNull(),
    outcome: text("outcome").notNull(),
    errorCode: text("error_code"),
    errorMessage: text("error_message"),
    waitSeconds: doublePrecision("wait_seconds"),
    lateAt: instant("late_at"),
    lateOutcome: text("late_outcome"),
    lateDetail: jsonb("late_detail"),
  },
  (t) => [
    primaryKey({ columns: [t.jobId, t.lockToken] }),
    check("job_attempts_late_whole", sql`(late_at is null) = (late_outcome is null)`),
    check("job_attempts_numbered", sql`number >= 1`),
    index("job_attempts_recent").on(t.jobType, t.finishedAt),
  ],
);

/** What happened to a job besides its attempts; `action_id` makes an operator's action repeatable. */
export const jobEvents = pgTable(
  "job_events",
  {
    jobId: uuid("job_id").notNull(),
    actionId: uuid("action_id").notNull(),
    at: instant("at").notNull(),
    kind: text("kind").notNull(),
    data: jsonb("data").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.jobId, t.actionId] }),
    // A repeated bulk replay looks for the jobs that its first try took.
    index("job_events_replays").on(t.actionId).where(sql`kind = 'replayed'`),
  ],
);

/** The ledger: effects that were started, and what is known of their end. */
export const jobEffects = pgTable(
  "job_effects",
  {
    jobId: uuid("job_id").notNull(),
    name: text("name").notNull(),
    state: text("state").notNull(),
    lockToken: uuid("lock_token").notNull(),
    resultJson: jsonb("result_json"),
    traceJson: jsonb("trace_json"),
    startedAt: instant("started_at").notNull(),
    finishedAt: instant("finished_at"),
    settledBy: text("settled_by"),
    settleActionId: uuid("settle_action_id"),
  },
  (t) => [
    primaryKey({ columns: [t.jobId, t.name] }),
    check("job_effects_state_known", sql`state in ('started', 'done', 'not_done')`),
    check("job_effects_end_known", sql`(state = 'started') = (finished_at is null)`),
    check("job_effects_result_only_done", sql`state = 'done' or result_json is null`),
  ],
);

/** What operators and sweeps know of a job type. */
export const typeState = pgTable(
  "type_state",
  {
    jobType: text("job_type").primaryKey(),
    pausedAt: instant("paused_at"),
    pausedBy: text("paused_by"),
    pauseReason: text("pause_reason"),
    /** Probes sent since the last claim, and when the next one may go. */
    probes: integer("probes").notNull().default(0),
    probedAt: instant("probed_at"),
    nextProbeAt: instant("next_probe_at"),
    /** True for the sweep that found a claim after its probe; see `take-vanished`. */
    answered: boolean("answered").notNull().default(false),
    /** When sweeps last shared out this type's allowance of repeated messages. */
    sweptAt: instant("swept_at"),
    previousSweepAt: instant("previous_sweep_at"),
  },
  () => [check("type_state_probes_counted", sql`probes >= 0`)],
);
