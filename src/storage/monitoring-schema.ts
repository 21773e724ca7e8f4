/** Tables of the operation: how far sweeps have counted, what, and which incidents there were. */

import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  check,
  doublePrecision,
  index,
  pgTable,
  primaryKey,
  smallint,
  text,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import { instant } from "./columns.js";

/** When the sweep last ran, and how far it has counted; one row. */
export const sweepState = pgTable(
  "sweep_state",
  {
    id: boolean("id").primaryKey().default(true),
    sweptAt: instant("swept_at").notNull(),
    /** Attempts that ended by then are in the counters; null until the first were counted. */
    rolledUpTo: instant("rolled_up_to"),
  },
  () => [check("sweep_state_single", sql`id`)],
);

/** Counters per minute, spread over shards so that deliveries do not wait for each other. */
export const jobStats = pgTable(
  "job_stats",
  {
    minute: instant("minute").notNull(),
    jobType: text("job_type").notNull(),
    measure: text("measure").notNull(),
    label: text("label").notNull(),
    shard: smallint("shard").notNull(),
    count: bigint("count", { mode: "number" }).notNull(),
  },
  // One measure over some time is one range: what charts and alerts read.
  (t) => [primaryKey({ columns: [t.measure, t.minute, t.jobType, t.label, t.shard] })],
);

/** The same counters since the beginning: what a scrape reads, however long the history. */
export const statTotals = pgTable(
  "stat_totals",
  {
    jobType: text("job_type").notNull(),
    measure: text("measure").notNull(),
    label: text("label").notNull(),
    count: bigint("count", { mode: "number" }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.measure, t.jobType, t.label] })],
);

/** Incidents, and what the webhook was told of each. */
export const alerts = pgTable(
  "alerts",
  {
    id: uuid("id").primaryKey(),
    kind: text("kind").notNull(),
    /** Empty for what concerns no single type. */
    jobType: text("job_type").notNull(),
    value: doublePrecision("value").notNull(),
    threshold: doublePrecision("threshold").notNull(),
    openedAt: instant("opened_at").notNull(),
    closedAt: instant("closed_at"),
    openingToldAt: instant("opening_told_at"),
    recoveryToldAt: instant("recovery_told_at"),
    /** Until then the sweep that took the notice is posting it. */
    tellingUntil: instant("telling_until"),
  },
  (t) => [
    // One open incident of a kind and type, however many sweeps see it begin.
    uniqueIndex("alerts_open").on(t.kind, t.jobType).where(sql`closed_at is null`),
    index("alerts_closed").on(t.closedAt).where(sql`closed_at is not null`),
    check(
      "alerts_recovery_after_opening",
      sql`recovery_told_at is null or (opening_told_at is not null and closed_at is not null)`,
    ),
  ],
);
