ALTER TABLE "job_effects" ADD COLUMN "settle_action_id" uuid;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "last_action_id" uuid;