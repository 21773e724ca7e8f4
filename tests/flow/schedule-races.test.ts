import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import type { Store, Trigger } from "../../src/core/ports.js";
import type { NewSchedule, Recurrence, ScheduleChange, SlotPlan } from "../../src/core/schedule.js";
import { changeSchedule } from "../../src/engine/change-schedule.js";
import { createSchedule } from "../../src/engine/create-schedule.js";
import { planSchedules } from "../../src/engine/plan-schedules.js";
import { setUpRace } from "../support/race.js";
import { INTERVAL_SECONDS, portsOver, report } from "../support/schedules.js";
import { claimFor } from "../support/store.js";

const race = setUpRace();

const ACTOR = { tenant: "acme", keyName: "acme" };
const REF = { name: "often", tenant: null };
const EVERY_FIVE: Recurrence = {
  cron: "*/5 * * * *",
  timeZone: "UTC",
  type: report.type,
  payload: { of: "sales" },
  missedRunPolicy: "skip",
};
const EDIT: ScheduleChange = {
  kind: "edit",
  recurrence: { ...EVERY_FIVE, cron: "*/7 * * * *" },
  enabled: null,
};

const plan = (store = race.store) => planSchedules(portsOver(store, report), 500);
const newSchedule = (): NewSchedule => ({
  ...EVERY_FIVE,
  id: randomUUID(),
  tenant: "acme",
  name: REF.name,
  enabled: true,
});
const create = () => race.store.createSchedule(newSchedule());
const change = (what: ScheduleChange, store = race.store) =>
  store.changeSchedule(REF, what, { actionId: randomUUID(), actor: ACTOR, reason: null });
const slots = () =>
  race.rows<{ id: string; status: string; slot: string; revision: number }>(
    `select id, status, slot_at::text as slot, schedule_revision as revision
     from jobs order by slot_at`,
  );
const duplicates = () =>
  race.rows(`select slot_at, schedule_revision, count(*) from jobs
    group by schedule_id, schedule_revision, slot_at having count(*) > 1`);

/** A plan that has been worked out and not yet been sent. */
async function unsentPlan(): Promise<SlotPlan[]> {
  let plans: SlotPlan[] = [];
  const makeSlots: Store["makeSlots"] = async (made) => {
    plans = made;
    return [];
  };
  await plan({ ...race.store, makeSlots });
  return plans;
}
const TYPES = [{ type: report.type, maxAttempts: 8, publish: true }];

test("two sweeps at once, 100 rounds, make one job of every slot (P07)", async () => {
  await create();
  let published = 0;
  for (let round = 0; round < 100; round++) {
    const both = await Promise.all([plan(), plan()]);
    published += both[0].wakeups.length + both[1].wakeups.length;
    await race.database.advance(INTERVAL_SECONDS);
  }
  const made = await slots();
  // Three slots an interval, the first and the last look reach two intervals ahead.
  expect(made.length).toBeGreaterThanOrEqual(300);
  expect(published).toBe(made.length);
  expect(new Set(made.map(({ slot }) => slot)).size).toBe(made.length);
  const gaps = made
    .slice(1)
    .map(({ slot }, at) => Date.parse(slot) - Date.parse(made[at]?.slot ?? ""));
  expect(new Set(gaps)).toEqual(new Set([300_000]));
});

test("the unique key alone keeps a slot single, should sweeps plan the same twice (P07)", async () => {
  await create();
  const unguarded = await race.edited([
    { statement: "make-slots", cut: /and s\.plan_from = p\."planFrom"/ },
  ]);
  const plans = await unsentPlan();
  const again = plans.map((each) => ({
    ...each,
    slots: each.slots.map((slot) => ({ ...slot, jobId: randomUUID() })),
  }));
  expect((await unguarded.makeSlots(plans, TYPES)).length).toBeGreaterThan(0);
  expect(await unguarded.makeSlots(again, TYPES)).toEqual([]);
  expect(await duplicates()).toEqual([]);
});

test("an edit that waits for a sweep cancels the jobs which that sweep makes", async () => {
  await create();
  const held = await race.begin();
  await plan(held.store);
  const edit = change(EDIT);
  await race.waiting(1);
  await held.commit();
  const outcome = await edit;
  const made = await slots();
  expect(made.length).toBeGreaterThan(0);
  expect(outcome).toMatchObject({ kind: "changed", jobsCancelled: made.length });
  expect(made.map(({ status }) => status)).toEqual(made.map(() => "cancelled"));
});

test("a plan from before an edit makes nothing after it", async () => {
  await create();
  const plans = await unsentPlan();
  expect(plans[0]?.slots.length).toBeGreaterThan(0);
  expect(await change(EDIT)).toMatchObject({ kind: "changed" });
  expect(await race.store.makeSlots(plans, TYPES)).toEqual([]);
  expect(await slots()).toEqual([]);
});

test("a sweep does not wait for an edit, and makes nothing of the former revision", async () => {
  await create();
  const held = await race.begin();
  await change(EDIT, held.store);
  expect((await plan()).wakeups).toEqual([]);
  await held.commit();
  const { wakeups } = await plan();
  expect(wakeups.length).toBeGreaterThan(0);
  expect((await slots()).every(({ revision }) => revision === 2)).toBe(true);
});

test("a job that a claim holds when its schedule is deleted goes on; the others are cancelled", async () => {
  await create();
  await plan();
  await race.database.advance(300);
  const [first, ...rest] = await slots();
  if (!first) throw new Error("the sweep made no job");
  const held = await race.begin();
  const claimed = await claimFor(held.store, { id: first.id, type: report.type });
  expect(claimed).toMatchObject({ kind: "claimed" });
  const deletion = change({ kind: "delete" });
  await race.waiting(1);
  await held.commit();
  expect(await deletion).toMatchObject({ kind: "changed", jobsCancelled: rest.length });
  const statuses = (await slots()).map(({ status }) => status);
  expect(statuses).toEqual(["processing", ...rest.map(() => "cancelled")]);
  expect(await race.count("schedules")).toBe(0);
});

test("a claim that waits for a pause finds its job cancelled", async () => {
  await create();
  await plan();
  await race.database.advance(300);
  const [first] = await slots();
  const held = await race.begin();
  await change({ kind: "enable", enabled: false }, held.store);
  const claim = claimFor(race.store, { id: first?.id ?? "", type: report.type });
  await held.commit();
  expect((await claim).kind).not.toBe("claimed");
  expect((await slots()).map(({ status }) => status)).not.toContain("processing");
});

test("a create and an edit whose answers are lost plan their first slots all the same (I5)", async () => {
  const trigger = { publishMany: async () => ({ failed: [], calls: 1 }) } as unknown as Trigger;
  const ports = { ...portsOver(race.store, report), trigger };
  const request = { ...EVERY_FIVE, name: REF.name, enabled: true };
  race.database.neon.setFault({ action: "lose-answer", nth: 1 });
  expect(await createSchedule(ports, ACTOR, request, 1)).toMatchObject({ kind: "created" });
  const first = await slots();
  expect(first.length).toBeGreaterThan(0);

  race.database.neon.setFault({ action: "lose-answer", nth: 1 });
  expect(await changeSchedule(ports, ACTOR, REF, EDIT, 1)).toMatchObject({ kind: "changed" });
  const edited = (await slots()).filter(({ revision }) => revision === 2);
  expect(edited.length).toBeGreaterThan(0);
  expect(await duplicates()).toEqual([]);
});

test("a create that is repeated while its first try is under way gives that schedule (I5)", async () => {
  const schedule = newSchedule();
  const held = await race.begin();
  const first = await held.store.createSchedule(schedule);
  const [repeat, rival] = [race.store.createSchedule(schedule), create()];
  await race.waiting(2);
  await held.commit();

  expect(await repeat).toMatchObject({ id: schedule.id, planFrom: first?.planFrom });
  expect(await rival).toBeNull();
  expect(await race.count("schedules")).toBe(1);
});

test("a repeated change is the same change (I5)", async () => {
  await create();
  await plan();
  const action = { actionId: randomUUID(), actor: ACTOR, reason: null };
  const first = await race.store.changeSchedule(REF, EDIT, action);
  const { wakeups } = await plan();
  const second = await race.store.changeSchedule(REF, EDIT, action);
  expect(first).toMatchObject({ kind: "changed", schedule: { revision: 2 } });
  expect(second).toMatchObject({ kind: "changed", schedule: { revision: 2 }, jobsCancelled: 0 });
  const queued = (await slots()).filter(({ status }) => status === "queued");
  expect(queued.length).toBe(wakeups.length);
});
