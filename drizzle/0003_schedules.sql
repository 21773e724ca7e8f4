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
ALTER TABLE "jobs" ADD COLUMN "schedule_id" uuid;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "schedule_revision" integer;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "slot_at" timestamp with time zone;--> statement-breakpoint
CREATE UNIQUE INDEX "schedules_name" ON "schedules" USING btree ("tenant","name");--> statement-breakpoint
CREATE INDEX "schedules_to_plan" ON "schedules" USING btree ("plan_from") WHERE enabled;--> statement-breakpoint
CREATE UNIQUE INDEX "jobs_schedule_slot" ON "jobs" USING btree ("schedule_id","schedule_revision","slot_at") WHERE schedule_id is not null;--> statement-breakpoint
CREATE INDEX "jobs_schedule_unstarted" ON "jobs" USING btree ("schedule_id") WHERE schedule_id is not null and status = 'queued' and attempts = 0;--> statement-breakpoint
ALTER TABLE "jobs" ADD CONSTRAINT "jobs_slot_whole" CHECK ((schedule_id is null) = (slot_at is null) and (schedule_id is null) = (schedule_revision is null));