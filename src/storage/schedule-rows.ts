/** Pieces of SQL about schedules that several statements share. */

import { type SQL, sql } from "drizzle-orm";
import type { Actor } from "../core/operations.js";
import {
  DECLARED_TENANT,
  type Recurrence,
  type ScheduledType,
  type ScheduleRef,
} from "../core/schedule.js";
import { instantText, visibleTo } from "./fragments.js";

/**
 * The id of the schedule that a name means to an actor, or null.
 *
 * Shape: an admin means their own, or the only one of that name, unless they name the tenant.
 */
export const scheduleIdOf = ({ name, tenant }: ScheduleRef, actor: Actor): SQL => sql`(
  select s.id from schedules s
  where s.name = ${name} and ${visibleTo(actor, sql`s`)}
    and case when ${tenant}::text is not null then s.tenant = ${tenant}::text
      else s.tenant = ${actor.keyName} or (select count(*) from schedules other
        where other.name = ${name} and ${visibleTo(actor, sql`other`)}) = 1 end
  limit 1)`;

/** When a job of the schedule last came due: a planned slot, or a run by hand. */
export const lastRunAt = (alias: SQL): SQL => sql`greatest(${alias}.last_run_at,
  (select max(slot) from unnest(${alias}.planned_slots) slot where slot <= now()))`;

/** Where planning begins anew; whole milliseconds survive the way through JSON. */
export const planFromNow: SQL = sql`date_trunc('milliseconds', now())`;

/** A whole schedule as one JSON object, with the member names of `Schedule`. */
export const scheduleJson = (alias: SQL): SQL => sql`jsonb_build_object(
  'id', ${alias}.id, 'tenant', ${alias}.tenant, 'name', ${alias}.name,
  'cron', ${alias}.cron, 'timeZone', ${alias}.time_zone,
  'type', ${alias}.job_type, 'payload', ${alias}.payload_json,
  'missedRunPolicy', ${alias}.missed_run_policy,
  'enabled', ${alias}.enabled, 'declared', ${alias}.declared, 'revision', ${alias}.revision,
  'lastRunAt', ${instantText(lastRunAt(alias))}, 'lastMissed', ${alias}.last_missed,
  'createdAt', ${instantText(sql`${alias}.created_at`)},
  'updatedAt', ${instantText(sql`${alias}.updated_at`)},
  'plannedNextAt', ${instantText(sql`coalesce(
    (select min(slot) from unnest(${alias}.planned_slots) slot where slot > now()),
    case when ${alias}.plan_from > now() then ${alias}.plan_from end)`)},
  'planFrom', ${instantText(sql`${alias}.plan_from`)}, 'readAt', ${instantText(sql`now()`)})`;

/** A parameter for `scheduledType`. */
export function typesByName(types: readonly ScheduledType[]): string {
  return JSON.stringify(Object.fromEntries(types.map((each) => [each.type, each])));
}

/** What a type's jobs need, as an object of `ScheduledType`; null for a type that is not registered. */
export const scheduledType = (types: string, type: SQL): SQL => sql`(${types}::jsonb -> ${type})`;

/** Schedules that job files declare, as rows `d` with the member names of `Recurrence`. */
export const declaredRows = (declared: readonly Recurrence[]): SQL => sql`jsonb_to_recordset(
  ${JSON.stringify(declared)}::jsonb) as d (id uuid, cron text, "timeZone" text, type text,
  payload jsonb, "missedRunPolicy" text)`;

/** True for the row of a declared schedule; by its tenant, which is indexed. */
export const isDeclared = (alias: SQL): SQL =>
  sql`(${alias}.tenant = ${DECLARED_TENANT} and ${alias}.declared)`;

/** True where a schedule's row says what the code says. */
export const sameRecurrence = (row: SQL, declared: SQL): SQL => sql`(${row}.enabled
  and ${row}.cron = ${declared}.cron and ${row}.time_zone = ${declared}."timeZone"
  and ${row}.payload_json = ${declared}.payload
  and ${row}.missed_run_policy = ${declared}."missedRunPolicy")`;
