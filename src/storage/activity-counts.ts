/** Counts for charts, in SQL: the buckets of a stretch of time, and how facts are added up. */

import { type SQL, sql } from "drizzle-orm";
import type { Buckets } from "../core/activity.js";

/** When the first bucket begins, so that the last one holds this moment. */
export const bucketsSince = ({ count, seconds }: Buckets): SQL => sql`(
  date_bin(make_interval(secs => ${seconds}::int), now(), timestamptz 'epoch')
    - make_interval(secs => ${(count - 1) * seconds}::int))`;

/** A CTE `span` with that instant as `since`. */
export const bucketSpan = (buckets: Buckets): SQL => sql`span as materialized (
  select ${bucketsSince(buckets)} as since)`;

/** The bucket of an instant; needs the CTE `span`. */
export const bucketOf = (instant: SQL, { seconds }: Buckets): SQL =>
  sql`floor(extract(epoch from ${instant} - span.since) / ${seconds}::int)::int`;

/**
 * Columns over the CTE `fact(bucket, job_type, measure, label, count)`, needing `span`.
 *
 * Shape: added up once by bucket and once by type, so that the answer stays small however many types
 *        there are.
 */
export const countColumns: SQL = sql`
  extract(epoch from span.since)::float8 as "sinceEpochSeconds", coalesce((
    select jsonb_agg(jsonb_build_object('bucket', bucket, 'type', job_type, 'measure', measure,
      'label', label, 'count', count))
    from (select bucket, job_type, measure, label, sum(count) as count from fact
      group by grouping sets ((bucket, measure, label), (job_type, measure, label))) counted
    ), '[]'::jsonb) as facts`;
