ALTER TABLE "jobs" ADD COLUMN "take_id" uuid;--> statement-breakpoint
CREATE INDEX "jobs_taken" ON "jobs" USING btree ("take_id") WHERE take_id is not null and next_run_at is not null;