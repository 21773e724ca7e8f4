import { expect, test } from "vitest";
import { zoneOffsets } from "../support/intl-slots.js";
import { NIGHTLY, report, schedule, slotJobs } from "../support/schedules.js";
import { type World, worldForTest } from "../support/world.js";

const ZONE = "America/New_York";
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A world half a day before the next change of the clock in New York, with a schedule there. */
async function beforeChange(change: "spring" | "autumn", cron: string) {
  // A sweep plans two days at once.
  const env = { SWEEP_INTERVAL_SECONDS: String(DAY_MS / 1000) };
  const world = await worldForTest({ jobs: [report], env });
  const nowMs = world.qstash.now();
  const fromMs = (Math.ceil(nowMs / DAY_MS) + 1) * DAY_MS;
  const { transitions } = zoneOffsets(ZONE, fromMs, fromMs + 400 * DAY_MS);
  const next = transitions.find(
    ({ beforeMs, afterMs }) => afterMs > beforeMs === (change === "spring"),
  );
  if (!next) throw new Error(`no ${change} in ${ZONE}`);
  await world.advance((next.atMs - 12 * HOUR_MS - nowMs) / 1000);
  await schedule(world, { ...NIGHTLY, cron, timeZone: ZONE });
  return { world, changeMs: next.atMs };
}

/** Runs all that was planned, and gives the hours from the change at which jobs of slots began. */
async function hoursOfRuns(world: World, changeMs: number): Promise<number[]> {
  await world.runUntilIdle((2.1 * DAY_MS) / 1000);
  const jobs = await slotJobs(world);
  expect(jobs.map(({ status }) => status)).toEqual(jobs.map(() => "completed"));
  const { rows } = await world.database.pg.query(
    "select started_at, slot_at from jobs where schedule_id is not null order by slot_at",
  );
  return (rows as { started_at: Date; slot_at: Date }[]).map(({ started_at, slot_at }) => {
    expect(started_at.getTime()).toBeGreaterThanOrEqual(slot_at.getTime());
    return Math.floor((started_at.getTime() - changeMs) / (HOUR_MS / 60)) / 60;
  });
}

test("a daily job whose time the clock skips runs once, at the end of the gap, and at its time the day after (P01)", async () => {
  // 02:00 becomes 03:00; the next 02:30 is 23 and a half hours later.
  const { world, changeMs } = await beforeChange("spring", "30 2 * * *");
  expect(await hoursOfRuns(world, changeMs)).toEqual([0, 23.5]);
});

test("a daily job whose time comes twice runs once, the first time (P01)", async () => {
  // 02:00 becomes 01:00; the first 01:30 was half an hour before, the next day's is 24.5 after.
  const { world, changeMs } = await beforeChange("autumn", "30 1 * * *");
  expect(await hoursOfRuns(world, changeMs)).toEqual([-0.5, 24.5]);
});

test("an hourly job skips no hour and runs in both of the repeated ones (P01)", async () => {
  const { world, changeMs } = await beforeChange("autumn", "30 * * * *");
  const hours = await hoursOfRuns(world, changeMs);
  expect(hours).toEqual(hours.map((_, at) => (hours[0] ?? 0) + at));
});
