import { expect, test } from "vitest";
import * as z from "zod";
import { defineJob, type JobDefinition } from "../../src/core/define-job.js";
import { planSchedules } from "../../src/engine/plan-schedules.js";
import type { ScheduleView } from "../../src/engine/view-schedule.js";
import { portsOver, slotJobs } from "../support/schedules.js";
import { storeOver } from "../support/store.js";
import { KEYS, type World, worldForTest } from "../support/world.js";

const digest = (cron?: string) =>
  defineJob({
    type: "test.digest",
    payload: z.object({ of: z.string() }),
    schedule: cron === undefined ? undefined : { cron, payload: { of: "news" } },
    run: () => null,
  });

const asAdmin = { secret: KEYS.admin };
const read = (world: World) => world.request("GET", "/api/schedules/test.digest", asAdmin);

test("a schedule in a job file is applied by the sweep, shown as declared, and changed only in code", async () => {
  const world = await worldForTest({ jobs: [digest("*/5 * * * *")] });
  expect((await read(world)).status).toBe(404);
  expect(await world.sweep()).toMatchObject({ failedSteps: [] });
  const made = await slotJobs(world);
  expect(made.length).toBeGreaterThanOrEqual(5);
  expect(await (await read(world)).json()).toMatchObject({
    declared: true,
    cron: "*/5 * * * *",
    timeZone: "UTC",
    payload: { of: "news" },
    revision: 1,
  });
  for (const [method, path] of [
    ["DELETE", ""],
    ["POST", "/pause"],
  ]) {
    const refused = await world.request(`${method}`, `/api/schedules/test.digest${path}`, asAdmin);
    expect(refused.status).toBe(403);
  }
  const writes = () =>
    world.instance.ports.calls.filter(({ method }) => method === "applyDeclared").length;
  const before = writes();
  await world.sweep();
  expect(writes()).toBe(before);
  const run = await world.request("POST", "/api/schedules/test.digest/run", asAdmin);
  expect(run.status).toBe(202);
  // Nobody's key owns it, so only an admin sees it.
  expect((await world.request("GET", "/api/schedules/test.digest")).status).toBe(404);
});

test("a deployment that changes or drops the declaration changes or drops the schedule", async () => {
  const world = await worldForTest({ jobs: [digest()] });
  const store = storeOver(world.database);
  const sweepOf = (job: JobDefinition) => planSchedules(portsOver(store, job), 500);
  await sweepOf(digest("*/5 * * * *"));
  const first = (await slotJobs(world)).length;
  await sweepOf(digest("*/10 * * * *"));
  const jobs = await slotJobs(world);
  expect(jobs.filter(({ status }) => status === "cancelled")).toHaveLength(first);
  expect(jobs.filter(({ schedule_revision }) => schedule_revision === 2).length).toBeGreaterThan(1);
  expect(await (await read(world)).json()).toMatchObject({ cron: "*/10 * * * *", revision: 2 });
  await sweepOf(digest());
  expect((await slotJobs(world)).filter(({ status }) => status === "queued")).toEqual([]);
  expect((await read(world)).status).toBe(404);
});

test("a changed declaration does not forget when its schedule last ran", async () => {
  const world = await worldForTest({ jobs: [digest("*/5 * * * *")] });
  const store = storeOver(world.database);
  await planSchedules(portsOver(store, digest("*/5 * * * *")), 500);
  await world.advance(600);
  const lastRunAt = async () => ((await (await read(world)).json()) as ScheduleView).lastRunAt;
  const before = await lastRunAt();
  expect(before).not.toBeNull();
  await planSchedules(portsOver(store, digest("0 0 1 1 *")), 500);
  expect(await lastRunAt()).toBe(before);
});

test("two deployments' first sweeps at once apply a declaration once", async () => {
  const world = await worldForTest({ jobs: [digest()] });
  const store = storeOver(world.database);
  const ports = portsOver(store, digest("*/5 * * * *"));
  await Promise.all([1, 2, 3, 4].map(() => planSchedules(ports, 500)));
  const slots = (await slotJobs(world)).map(({ slot_at }) => slot_at.getTime());
  expect(slots.length).toBeGreaterThanOrEqual(5);
  expect(new Set(slots).size).toBe(slots.length);
  expect(await (await read(world)).json()).toMatchObject({ revision: 1 });
});

test("a declaration that cannot be accepted is logged, and the others go on", async () => {
  const good = defineJob({
    type: "test.good",
    payload: z.object({}),
    schedule: { cron: "*/5 * * * *" },
    run: () => null,
  });
  const unkept = defineJob({
    type: "test.unkept",
    payload: z.object({ of: z.string() }),
    schedule: { cron: "*/5 * * * *", payload: { of: "\u0000" } },
    run: () => null,
  });
  const world = await worldForTest({ jobs: [digest("0 0 30 2 *"), unkept, good] });
  expect(await world.sweep()).toMatchObject({ failedSteps: [] });
  expect((await slotJobs(world)).length).toBeGreaterThanOrEqual(5);
  for (const type of ["test.digest", "test.unkept"]) {
    expect(world.logs).toContainEqual(
      expect.objectContaining({ event: "sweep_step_failed", type }),
    );
  }
});
