-- Vacuum at 5 % of dead rows instead of 20 %. Every job leaves at least two dead versions of its row,
-- and retention deletes a day's rows at once; the history that is kept makes 20 % of a table a large
-- number. What dead rows cost until then is measured by `npm run bench:dead-rows`: the next retention
-- walks over each of them, and so does a claim by a worker or a sweep.
--
-- Not lower: where less than 2 % of a table's pages have dead rows, vacuum leaves the indexes alone.
-- On Neon a suspended compute may forget what it had counted, so a share must be reachable in one day:
-- https://github.com/neondatabase/neon/issues/6684
--
-- The fill factor stays 100: claim and finish change indexed columns, so no room in the page would
-- make their updates HOT.
alter table jobs set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200);
--> statement-breakpoint
alter table job_attempts set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200);
--> statement-breakpoint
alter table job_events set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200);
--> statement-breakpoint
alter table job_effects set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200);
--> statement-breakpoint
alter table idempotency_records set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200);
--> statement-breakpoint
alter table job_stats set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200);
