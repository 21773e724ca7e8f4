CREATE TABLE "alerts" (
	"id" uuid PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"job_type" text NOT NULL,
	"value" double precision NOT NULL,
	"threshold" double precision NOT NULL,
	"opened_at" timestamp with time zone NOT NULL,
	"closed_at" timestamp with time zone,
	"opening_told_at" timestamp with time zone,
	"recovery_told_at" timestamp with time zone,
	"telling_until" timestamp with time zone,
	CONSTRAINT "alerts_recovery_after_opening" CHECK (recovery_told_at is null or (opening_told_at is not null and closed_at is not null))
);
--> statement-breakpoint
CREATE TABLE "idempotency_records" (
	"tenant" text NOT NULL,
	"operation" text NOT NULL,
	"idempotency_key" text NOT NULL,
	"request_hash" text NOT NULL,
	"owner" uuid NOT NULL,
	"resource_type" text,
	"resource_id" uuid,
	"response_status" smallint,
	"response_json" text,
	"created_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "idempotency_records_tenant_operation_idempotency_key_pk" PRIMARY KEY("tenant","operation","idempotency_key"),
	CONSTRAINT "idempotency_records_whole_response" CHECK ((response_status is null) = (response_json is null)),
	CONSTRAINT "idempotency_records_accepted" CHECK (response_status between 200 and 299)
);
--> statement-breakpoint
CREATE TABLE "job_attempts" (
	"job_id" uuid NOT NULL,
	"lock_token" uuid NOT NULL,
	"number" integer NOT NULL,
	"job_type" text NOT NULL,
	"started_at" timestamp with time zone NOT NULL,
	"finished_at" timestamp with time zone NOT NULL,
	"outcome" text NOT NULL,
	"error_code" text,
	"error_message" text,
	"wait_seconds" double precision,
	"late_at" timestamp with time zone,
	"late_outcome" text,
	"late_detail" jsonb,
	CONSTRAINT "job_attempts_job_id_lock_token_pk" PRIMARY KEY("job_id","lock_token"),
	CONSTRAINT "job_attempts_late_whole" CHECK ((late_at is null) = (late_outcome is null)),
	CONSTRAINT "job_attempts_numbered" CHECK (number >= 1)
);
--> statement-breakpoint
CREATE TABLE "job_effects" (
	"job_id" uuid NOT NULL,
	"name" text NOT NULL,
	"state" text NOT NULL,
	"lock_token" uuid NOT NULL,
	"result_json" jsonb,
	"trace_json" jsonb,
	"started_at" timestamp with time zone NOT NULL,
	"finished_at" timestamp with time zone,
	"settled_by" text,
	"settle_action_id" uuid,
	CONSTRAINT "job_effects_job_id_name_pk" PRIMARY KEY("job_id","name"),
	CONSTRAINT "job_effects_state_known" CHECK (state in ('started', 'done', 'not_done')),
	CONSTRAINT "job_effects_end_known" CHECK ((state = 'started') = (finished_at is null)),
	CONSTRAINT "job_effects_result_only_done" CHECK (state = 'done' or result_json is null)
);
--> statement-breakpoint
CREATE TABLE "job_events" (
	"job_id" uuid NOT NULL,
	"action_id" uuid NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"kind" text NOT NULL,
	"data" jsonb NOT NULL,
	CONSTRAINT "job_events_job_id_action_id_pk" PRIMARY KEY("job_id","action_id")
);
--> statement-breakpoint
CREATE TABLE "job_stats" (
	"minute" timestamp with time zone NOT NULL,
	"job_type" text NOT NULL,
	"measure" text NOT NULL,
	"label" text NOT NULL,
	"shard" smallint NOT NULL,
	"count" bigint NOT NULL,
	CONSTRAINT "job_stats_measure_minute_job_type_label_shard_pk" PRIMARY KEY("measure","minute","job_type","label","shard")
);
--> statement-breakpoint
CREATE TABLE "jobs" (
	"id" uuid PRIMARY KEY NOT NULL,
	"status" text NOT NULL,
	"job_type" text NOT NULL,
	"tenant" text NOT NULL,
	"priority" smallint NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"max_attempts" integer NOT NULL,
	"attempts_before_replay" integer DEFAULT 0 NOT NULL,
	"snoozes" integer DEFAULT 0 NOT NULL,
	"next_run_at" timestamp with time zone,
	"lock_until" timestamp with time zone,
	"lock_token" uuid,
	"claimed_by_message" text,
	"cancel_requested_at" timestamp with time zone,
	"last_action_id" uuid,
	"created_at" timestamp with time zone NOT NULL,
	"started_at" timestamp with time zone,
	"attempt_started_at" timestamp with time zone,
	"finished_at" timestamp with time zone,
	"updated_at" timestamp with time zone NOT NULL,
	"last_error" jsonb,
	"payload_json" jsonb NOT NULL,
	"result_json" jsonb,
	"result_omitted" text,
	"progress_json" jsonb,
	"idempotency_key" text,
	"dedupe_key" text,
	"dedupe_until" text DEFAULT 'finished' NOT NULL,
	"dedupe_slot" text GENERATED ALWAYS AS (case
      when status in ('queued', 'processing', 'failed')
        and (dedupe_until = 'finished' or attempts = attempts_before_replay)
      then dedupe_key end) STORED,
	"trigger_seq" integer DEFAULT 1 NOT NULL,
	"triggered_at" timestamp with time zone,
	"next_trigger_at" timestamp with time zone,
	"traceparent" text,
	"schedule_id" uuid,
	"schedule_revision" integer,
	"slot_at" timestamp with time zone,
	CONSTRAINT "jobs_status_known" CHECK ("jobs"."status" in ('queued', 'processing', 'completed', 'failed', 'dead_letter', 'cancelled')),
	CONSTRAINT "jobs_due_iff_waiting" CHECK ((status in ('queued', 'failed')) = (next_run_at is not null)),
	CONSTRAINT "jobs_wakeup_iff_waiting" CHECK ((next_run_at is null) = (next_trigger_at is null)),
	CONSTRAINT "jobs_lock_iff_processing" CHECK ((status = 'processing') = (lock_token is not null) and (status = 'processing') = (lock_until is not null)),
	CONSTRAINT "jobs_finished_iff_terminal" CHECK ((status in ('completed', 'dead_letter', 'cancelled')) = (finished_at is not null)),
	CONSTRAINT "jobs_attempts_counted" CHECK (attempts_before_replay >= 0 and snoozes >= 0 and attempts >= attempts_before_replay + snoozes
        and attempts - snoozes - attempts_before_replay <= max_attempts),
	CONSTRAINT "jobs_waiting_has_budget" CHECK (status not in ('queued', 'failed') or attempts - snoozes - attempts_before_replay < max_attempts),
	CONSTRAINT "jobs_processing_was_counted" CHECK (status <> 'processing' or (attempts > attempts_before_replay and started_at is not null and attempt_started_at is not null)),
	CONSTRAINT "jobs_waiting_not_cancelled" CHECK (status not in ('queued', 'failed') or cancel_requested_at is null),
	CONSTRAINT "jobs_failure_has_error" CHECK (status not in ('failed', 'dead_letter') or last_error is not null),
	CONSTRAINT "jobs_result_only_completed" CHECK (status = 'completed' or (result_json is null and result_omitted is null)),
	CONSTRAINT "jobs_priority_in_range" CHECK (priority between 0 and 9),
	CONSTRAINT "jobs_max_attempts_in_range" CHECK (max_attempts between 1 and 50),
	CONSTRAINT "jobs_dedupe_until_known" CHECK (dedupe_until in ('finished', 'started')),
	CONSTRAINT "jobs_slot_whole" CHECK ((schedule_id is null) = (slot_at is null) and (schedule_id is null) = (schedule_revision is null))
);
--> statement-breakpoint
CREATE TABLE "schedules" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant" text NOT NULL,
	"name" text NOT NULL,
	"cron" text NOT NULL,
	"time_zone" text NOT NULL,
	"job_type" text NOT NULL,
	"payload_json" jsonb NOT NULL,
	"missed_run_policy" text NOT NULL,
	"enabled" boolean NOT NULL,
	"declared" boolean DEFAULT false NOT NULL,
	"revision" integer DEFAULT 1 NOT NULL,
	"plan_from" timestamp with time zone NOT NULL,
	"planned_slots" timestamp with time zone[] DEFAULT '{}' NOT NULL,
	"last_run_at" timestamp with time zone,
	"last_missed" jsonb,
	"last_action_id" uuid NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"updated_at" timestamp with time zone NOT NULL,
	CONSTRAINT "schedules_policy_known" CHECK (missed_run_policy in ('skip', 'run_once')),
	CONSTRAINT "schedules_revised" CHECK (revision >= 1)
);
--> statement-breakpoint
CREATE TABLE "stat_totals" (
	"job_type" text NOT NULL,
	"measure" text NOT NULL,
	"label" text NOT NULL,
	"count" bigint NOT NULL,
	CONSTRAINT "stat_totals_measure_job_type_label_pk" PRIMARY KEY("measure","job_type","label")
);
--> statement-breakpoint
CREATE TABLE "sweep_state" (
	"id" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"swept_at" timestamp with time zone NOT NULL,
	"rolled_up_to" timestamp with time zone,
	CONSTRAINT "sweep_state_single" CHECK (id)
);
--> statement-breakpoint
CREATE TABLE "type_state" (
	"job_type" text PRIMARY KEY NOT NULL,
	"paused_at" timestamp with time zone,
	"paused_by" text,
	"pause_reason" text,
	"probes" integer DEFAULT 0 NOT NULL,
	"probed_at" timestamp with time zone,
	"next_probe_at" timestamp with time zone,
	"answered" boolean DEFAULT false NOT NULL,
	"swept_at" timestamp with time zone,
	"previous_sweep_at" timestamp with time zone,
	CONSTRAINT "type_state_probes_counted" CHECK (probes >= 0)
);
--> statement-breakpoint
CREATE UNIQUE INDEX "alerts_open" ON "alerts" USING btree ("kind","job_type") WHERE closed_at is null;--> statement-breakpoint
CREATE INDEX "alerts_closed" ON "alerts" USING btree ("closed_at") WHERE closed_at is not null;--> statement-breakpoint
CREATE INDEX "idempotency_records_expiry" ON "idempotency_records" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "job_attempts_recent" ON "job_attempts" USING btree ("job_type","finished_at");--> statement-breakpoint
CREATE INDEX "job_events_replays" ON "job_events" USING btree ("action_id") WHERE kind = 'replayed';--> statement-breakpoint
CREATE INDEX "jobs_due" ON "jobs" USING btree ("job_type","priority","next_run_at") WHERE next_run_at is not null;--> statement-breakpoint
CREATE INDEX "jobs_lease" ON "jobs" USING btree ("lock_until") WHERE lock_until is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "jobs_lock_token" ON "jobs" USING btree ("lock_token") WHERE lock_token is not null;--> statement-breakpoint
CREATE INDEX "jobs_claimed_by_message" ON "jobs" USING btree ("claimed_by_message") WHERE claimed_by_message is not null;--> statement-breakpoint
CREATE INDEX "jobs_unpublished" ON "jobs" USING btree ("job_type","next_run_at") WHERE triggered_at is null and next_run_at is not null;--> statement-breakpoint
CREATE INDEX "jobs_wakeup" ON "jobs" USING btree ("job_type","next_trigger_at") WHERE next_trigger_at is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "jobs_dedupe_slot" ON "jobs" USING btree ("tenant","job_type","dedupe_slot") WHERE dedupe_slot is not null;--> statement-breakpoint
CREATE INDEX "jobs_trouble" ON "jobs" USING btree ("tenant","status","created_at","id") WHERE status in ('failed', 'dead_letter', 'cancelled');--> statement-breakpoint
CREATE INDEX "jobs_list_by_key" ON "jobs" USING btree ("tenant","dedupe_key","created_at","id") WHERE dedupe_key is not null;--> statement-breakpoint
CREATE INDEX "jobs_list" ON "jobs" USING btree ("tenant","created_at","id");--> statement-breakpoint
CREATE INDEX "jobs_list_by_type" ON "jobs" USING btree ("tenant","job_type","created_at","id");--> statement-breakpoint
CREATE INDEX "jobs_finished" ON "jobs" USING btree ("finished_at") WHERE finished_at is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "jobs_schedule_slot" ON "jobs" USING btree ("schedule_id","schedule_revision","slot_at") WHERE schedule_id is not null;--> statement-breakpoint
CREATE INDEX "jobs_schedule_unstarted" ON "jobs" USING btree ("schedule_id") WHERE schedule_id is not null and status = 'queued' and attempts = 0;--> statement-breakpoint
CREATE UNIQUE INDEX "schedules_name" ON "schedules" USING btree ("tenant","name");--> statement-breakpoint
CREATE INDEX "schedules_to_plan" ON "schedules" USING btree ("plan_from") WHERE enabled;