import { expect, test } from "vitest";
import { setClocks } from "../support/flow-world.js";
import { advanceIntoHour, report, schedule, shown, slotJobs } from "../support/schedules.js";
import { type World, worldForTest } from "../support/world.js";

const HOUR_MS = 3_600_000;
const EVERY_FIVE = { cron: "*/5 * * * *", timeZone: "UTC" };

/** A schedule that was planned, and then nobody swept for ten hours. */
async function downtime(world: World, missedRunPolicy: string): Promise<Date> {
  const now = await advanceIntoHour(world, 60);
  await schedule(world, { ...EVERY_FIVE, missedRunPolicy });
  await world.runUntilIdle(1800);
  await world.advance(10 * 3600);
  return now;
}

test("after ten hours without a sweep, skip makes no job of the gap and records it (P08)", async () => {
  const world = await worldForTest({ jobs: [report] });
  const began = await downtime(world, "skip");
  const before = (await slotJobs(world)).length;
  const swept = await world.sweep();
  const { lastMissed } = await shown(world);
  // From the first slot that the first sweep did not reach to one interval before this sweep.
  expect(swept).toMatchObject({ slotsMissed: lastMissed?.count, failedSteps: [] });
  expect(lastMissed).toMatchObject({ capped: false });
  const firstMs = Date.parse(lastMissed?.first ?? "");
  const lastMs = Date.parse(lastMissed?.last ?? "");
  expect(firstMs - began.getTime()).toBeLessThan(HOUR_MS);
  expect(lastMs - firstMs).toBeGreaterThan(9.5 * HOUR_MS);
  expect(lastMissed?.count).toBe((lastMs - firstMs) / 300_000 + 1);
  const made = (await slotJobs(world)).slice(before);
  expect(made.length).toBe(swept.slotsPlanned);
  for (const { slot_at } of made) expect(slot_at.getTime()).toBeGreaterThan(lastMs);
  expect(made.length).toBeLessThanOrEqual(10);
});

test("run_once makes one job for the whole gap, due now (P08)", async () => {
  const world = await worldForTest({ jobs: [report] });
  await downtime(world, "run_once");
  const before = (await slotJobs(world)).length;
  await world.sweep();
  const { lastMissed } = await shown(world);
  const made = (await slotJobs(world)).slice(before);
  const late = made.filter(({ slot_at }) => slot_at <= new Date(lastMissed?.last ?? ""));
  expect(late).toHaveLength(1);
  expect(late[0]?.slot_at.toISOString()).toBe(lastMissed?.last);
  expect(late[0]?.next_run_at?.getTime()).toBeGreaterThan(late[0]?.slot_at.getTime() ?? 0);
  // The next sweep has nothing to catch up on.
  expect(await world.sweep()).toMatchObject({ slotsMissed: 0 });
});

test("a sweep makes at most 100 jobs of one schedule, and counts a long gap only so far", async () => {
  const world = await worldForTest({
    jobs: [report],
    env: { SWEEP_INTERVAL_SECONDS: "86400" },
  });
  await schedule(world, { cron: "* * * * *", timeZone: "UTC" });
  expect(await slotJobs(world)).toHaveLength(100);
  await world.advance(3 * 86_400);
  expect(await world.sweep()).toMatchObject({ slotsPlanned: 100, slotsMissed: 300 });
  expect(await shown(world)).toMatchObject({ lastMissed: { count: 300, capped: true } });
});

test("after a restore the slots since the backup are planned anew as other jobs, at most one interval back", async () => {
  const env = { SWEEP_INTERVAL_SECONDS: "60" };
  const world = await worldForTest({ jobs: [report], env, database: { fresh: true } });
  await advanceIntoHour(world, 10);
  await schedule(world, { cron: "* * * * *", timeZone: "UTC" });
  const restore = await world.database.backUp();
  for (let minutes = 0; minutes < 6; minutes += 1) {
    await world.advance(60);
    await world.sweep();
    await world.qstash.deliverDue();
  }
  const before = (await slotJobs(world)).filter(({ status }) => status === "completed");
  expect(before).toHaveLength(6);
  await restore();
  await setClocks(world);
  await world.sweep();
  await world.runUntilIdle(30);
  const kept = new Map(before.map(({ id, slot_at }) => [slot_at.getTime(), id]));
  const again = (await slotJobs(world)).filter(({ slot_at }) => kept.has(slot_at.getTime()));
  // Those that the backup held run again as they were; those planned after it are other jobs.
  const anew = again.filter(({ id, slot_at }) => kept.get(slot_at.getTime()) !== id);
  expect(anew).toHaveLength(1);
  expect(anew[0]?.slot_at).toEqual(before.at(-1)?.slot_at);
  expect(again.length - anew.length).toBe(2);
  expect((await shown(world)).lastMissed).toMatchObject({ count: 3 });
});
