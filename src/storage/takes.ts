/** How a statement that hands out messages finds its own batch when its first answer was lost. */

import { type SQL, sql } from "drizzle-orm";

/**
 * A statement that waits for the first try of a take, which may still be under way.
 *
 * Shape: goes before the take in one batch, whose next statement has a newer snapshot; a lock that
 *        the take itself waited for would be too late for the snapshot that it already has.
 */
export const firstTryEnded = (takeId: string): SQL =>
  sql`select pg_advisory_xact_lock(hashtextextended(${takeId}::text, 0))`;

/** A CTE `again`: what the first try of this take marked as published, where it still waits. */
export const takenBefore = (takeId: string): SQL => sql`again as materialized (
  select * from jobs
  where take_id = ${takeId}::uuid and next_run_at is not null and triggered_at is not null)`;

/** True for a first try; a repeat gives what it finds in `again`, and takes nothing more. */
export const isFirstTry: SQL = sql`not exists (select from again)`;
