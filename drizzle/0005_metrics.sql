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
CREATE TABLE "stat_totals" (
	"job_type" text NOT NULL,
	"measure" text NOT NULL,
	"label" text NOT NULL,
	"count" bigint NOT NULL,
	CONSTRAINT "stat_totals_measure_job_type_label_pk" PRIMARY KEY("measure","job_type","label")
);
--> statement-breakpoint
ALTER TABLE "job_stats" DROP CONSTRAINT "job_stats_minute_job_type_measure_label_shard_pk";--> statement-breakpoint
ALTER TABLE "job_stats" ADD CONSTRAINT "job_stats_measure_minute_job_type_label_shard_pk" PRIMARY KEY("measure","minute","job_type","label","shard");--> statement-breakpoint
ALTER TABLE "sweep_state" ADD COLUMN "rolled_up_to" timestamp with time zone;--> statement-breakpoint
CREATE UNIQUE INDEX "alerts_open" ON "alerts" USING btree ("kind","job_type") WHERE closed_at is null;--> statement-breakpoint
CREATE INDEX "alerts_closed" ON "alerts" USING btree ("closed_at") WHERE closed_at is not null;