/** The table of recurring jobs. */

import { sql } from "drizzle-orm";
import {
  boolean,
  check,
  index,
  integer,
  jsonb,
  pgTable,
  text,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import { instant } from "./columns.js";

/** A recurring job; what its slots come to are jobs. */
export const schedules = pgTable(
  "schedules",
  {
    id: uuid("id").primaryKey(),
    tenant: text("tenant").notNull(),
    name: text("name").notNull(),
    cron: text("cron").notNull(),
    timeZone: text("time_zone").notNull(),
    jobType: text("job_type").notNull(),
    payloadJson: jsonb("payload_json").notNull(),
    missedRunPolicy: text("missed_run_policy").notNull(),
    enabled: boolean("enabled").notNull(),
    /** Declared in a job file, so that only the code can change it. */
    declared: boolean("declared").notNull().default(false),
    revision: integer("revision").notNull().default(1),
    /** Slots from here on have no job yet; whole milliseconds, since sweeps compare it. */
    planFrom: instant("plan_from").notNull(),
    /** Slots that have a job and were to come when a sweep last looked. */
    plannedSlots: instant("planned_slots").array().notNull().default(sql`'{}'`),
    lastRunAt: instant("last_run_at"),
    /** The latest gap: slots that no sweep was there for. */
    lastMissed: jsonb("last_missed"),
    /** The latest change by an operator, so that its repeat is recognised. */
    lastActionId: uuid("last_action_id").notNull(),
    createdAt: instant("created_at").notNull(),
    updatedAt: instant("updated_at").notNull(),
  },
  (t) => [
    uniqueIndex("schedules_name").on(t.tenant, t.name),
    index("schedules_to_plan").on(t.planFrom).where(sql`enabled`),
    check("schedules_policy_known", sql`missed_run_policy in ('skip', 'run_once')`),
    check("schedules_revised", sql`revision >= 1`),
  ],
);
