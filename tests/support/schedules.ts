/** Schedules in a world of one's own. */

import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import * as z from "zod";
import { defineJob, type JobDefinition } from "../../src/core/define-job.js";
import type { Ports, Store } from "../../src/core/ports.js";
import type { World } from "./world.js";

/** What the tests' schedules run. */
export const report = defineJob({
  type: "test.report",
  payload: z.object({ of: z.string() }),
  run: () => null,
});

export const NIGHTLY = {
  name: "nightly",
  cron: "0 3 * * *",
  timeZone: "Europe/Berlin",
  type: report.type,
  payload: { of: "sales" },
};

/** The sweep interval of a world that does not set one. */
export const INTERVAL_SECONDS = 900;

/** What the sweep's step for schedules needs of a deployment with one type. */
export function portsOver(store: Store, job: JobDefinition): Ports {
  return {
    store,
    entropy: { newId: randomUUID, random: Math.random },
    registry: new Map([[job.type, job]]),
    settings: { sweepIntervalSeconds: INTERVAL_SECONDS },
    env: {},
    log: () => {},
  } as unknown as Ports;
}

/** A schedule as the API shows it, as far as tests look at it. */
export interface ShownSchedule {
  name: string;
  enabled: boolean;
  revision: number;
  nextRunAt: string | null;
  lastRunAt: string | null;
  lastMissed: { first: string; last: string; count: number; capped: boolean } | null;
  nextTimes: string[];
}

export interface SlotJob {
  id: string;
  status: string;
  slot_at: Date;
  next_run_at: Date | null;
  schedule_revision: number;
  triggered_at: Date | null;
}

/** Creates a schedule that must be accepted. */
export async function schedule(
  world: World,
  more: Record<string, unknown> = {},
): Promise<ShownSchedule> {
  const response = await world.request("POST", "/api/schedules", { body: { ...NIGHTLY, ...more } });
  const answer = await response.json();
  expect(response.status, JSON.stringify(answer)).toBe(201);
  return answer as ShownSchedule;
}

/** Reads a schedule that must be there. */
export async function shown(world: World, name = NIGHTLY.name): Promise<ShownSchedule> {
  const response = await world.request("GET", `/api/schedules/${name}`);
  expect(response.status).toBe(200);
  return (await response.json()) as ShownSchedule;
}

/** Lists all jobs that fill slots, by slot. */
export async function slotJobs({ database }: Pick<World, "database">): Promise<SlotJob[]> {
  const { rows } = await database.pg.query(
    "select * from jobs where schedule_id is not null order by slot_at, created_at",
  );
  return rows as SlotJob[];
}

/** Moves the world to the next instant that is so many seconds past a whole hour. */
export async function advanceIntoHour(world: World, seconds: number): Promise<Date> {
  const { rows } = await world.database.pg.query(
    "select extract(epoch from now() - date_trunc('hour', now()))::float8 as into, now() as now",
  );
  const [{ into }] = rows as [{ into: number }];
  await world.advance(3600 - into + seconds);
  const { rows: after } = await world.database.pg.query("select now() as now");
  return (after as [{ now: Date }])[0].now;
}
