import { expect, test } from "vitest";
import {
  advanceIntoHour,
  INTERVAL_SECONDS,
  NIGHTLY,
  report,
  schedule,
  shown,
  slotJobs,
} from "../support/schedules.js";
import { KEYS, worldForTest } from "../support/world.js";

const start = () => worldForTest({ jobs: [report] });

test("slots of the next two intervals have jobs, and QStash brings each at its time, once", async () => {
  const world = await start();
  const now = await advanceIntoHour(world, 60);
  await schedule(world, { cron: "*/10 * * * *" });
  const jobs = await slotJobs(world);
  const minutes = jobs.map(({ slot_at }) => Math.round((slot_at.getTime() - now.getTime()) / 6e4));
  expect(minutes).toEqual([9, 19, 29]);
  for (const job of jobs) {
    expect(job).toMatchObject({ status: "queued", next_run_at: job.slot_at });
    expect(job.triggered_at).not.toBeNull();
  }
  expect(world.qstash.pending()).toHaveLength(3);
  // Nothing new is near.
  expect(await world.sweep()).toMatchObject({ slotsPlanned: 0, failedSteps: [] });
  await world.runUntilIdle(9 * 60 + 5);
  expect((await slotJobs(world)).map(({ status }) => status)).toEqual([
    "completed",
    "queued",
    "queued",
  ]);
  expect(await shown(world)).toMatchObject({
    lastRunAt: jobs[0]?.slot_at.toISOString(),
    nextRunAt: jobs[1]?.slot_at.toISOString(),
  });
  expect(await world.sweep()).toMatchObject({ slotsPlanned: 1, slotsMissed: 0 });
  expect(world.qstash.pending()).toHaveLength(3);
});

test("a schedule that could not be planned when it was made is planned by the sweep", async () => {
  const world = await start();
  await advanceIntoHour(world, 60);
  world.instance.ports.rule = ({ method }) => (method === "makeSlots" ? "fail" : undefined);
  await schedule(world, { cron: "*/10 * * * *" });
  world.instance.ports.rule = undefined;
  expect(await slotJobs(world)).toEqual([]);
  expect(await world.sweep()).toMatchObject({ slotsPlanned: 3 });
  expect(world.qstash.pending()).toHaveLength(3);
});

test("an ordinary sweep costs one statement for schedules, and one more where slots are near", async () => {
  const world = await start();
  await advanceIntoHour(world, 60);
  await schedule(world, { name: "far", cron: "0 0 1 1 *" });
  await world.sweep();
  const calls = () => world.instance.ports.calls.map(({ method }) => method);
  const before = calls().length;
  await world.sweep();
  const quiet = calls().slice(before);
  expect(quiet).toContain("dueSchedules");
  expect(quiet).not.toContain("makeSlots");
});

test("a schedule is shown with its next five times, in its time zone", async () => {
  const world = await start();
  const created = await schedule(world);
  expect(created).toMatchObject({ ...NIGHTLY, enabled: true, missedRunPolicy: "skip" });
  expect(created).toMatchObject({
    declared: false,
    revision: 1,
    lastRunAt: null,
    lastMissed: null,
  });
  expect(created.nextTimes).toHaveLength(5);
  expect(created.nextRunAt).toBe(created.nextTimes[0]);
  for (const time of created.nextTimes) {
    const options = { timeZone: "Europe/Berlin", timeStyle: "short" } as const;
    expect(new Intl.DateTimeFormat("de", options).format(new Date(time))).toBe("03:00");
  }
  const list = await world.request("GET", "/api/schedules");
  const { nextTimes: _, ...listed } = created;
  expect(await list.json()).toEqual({ items: [listed] });
});

test("a name is taken once within its tenant", async () => {
  const world = await start();
  await schedule(world);
  const again = await world.request("POST", "/api/schedules", { body: NIGHTLY });
  expect(again.status).toBe(409);
  expect(await again.json()).toMatchObject({ code: "schedule_exists" });
  const elsewhere = { secret: KEYS.globex, body: NIGHTLY };
  expect((await world.request("POST", "/api/schedules", elsewhere)).status).toBe(201);
});

test("another tenant's schedule is a 404 on every path, and an admin names the tenant where two have the name (R04)", async () => {
  const world = await start();
  await schedule(world);
  const { name: _, ...edit } = NIGHTLY;
  const ways = [
    ["GET", ""],
    ["PUT", ""],
    ["DELETE", ""],
    ["POST", "/pause"],
    ["POST", "/resume"],
    ["POST", "/run"],
  ] as const;
  for (const [method, path] of ways) {
    const response = await world.request(method, `/api/schedules/nightly${path}?tenant=acme`, {
      secret: KEYS.globex,
      body: method === "PUT" ? edit : undefined,
    });
    expect(response.status, `${method} ${path}`).toBe(404);
  }
  const asAdmin = (query: string) =>
    world.request("GET", `/api/schedules/nightly${query}`, { secret: KEYS.admin });
  expect(await (await asAdmin("")).json()).toMatchObject({ tenant: "acme" });
  await world.request("POST", "/api/schedules", { secret: KEYS.globex, body: NIGHTLY });
  expect((await asAdmin("")).status).toBe(404);
  expect(await (await asAdmin("?tenant=globex")).json()).toMatchObject({ tenant: "globex" });
  // No tenant can have this name, nor any text column this character.
  expect((await asAdmin("?tenant=%00")).status).toBe(400);
});

test("what cannot be is refused at once, with its place (P05)", async () => {
  const world = await start();
  const faults: [pointer: string, fault: Record<string, unknown>][] = [
    ["#/cron", { cron: "0 0 30 2 *" }],
    ["#/cron", { cron: "0 0 31 4 *" }],
    ["#/cron", { cron: "0 0 31 2,4,6 *" }],
    ["#/cron", { cron: "61 * * * *" }],
    ["#/cron", { cron: "0 0 * * * *" }],
    ["#/timeZone", { timeZone: "Mars/Olympus" }],
    ["#/payload/of", { payload: { of: 1 } }],
    ["#/name", { name: "../x" }],
    ["#/missedRunPolicy", { missedRunPolicy: "all" }],
  ];
  for (const [pointer, fault] of faults) {
    const body = { ...NIGHTLY, ...fault };
    const response = await world.request("POST", "/api/schedules", { body });
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({
      code: "validation_failed",
      errors: [{ pointer, detail: expect.any(String) }],
    });
  }
  const unknown = { ...NIGHTLY, type: "test.nobody" };
  const response = await world.request("POST", "/api/schedules", { body: unknown });
  expect(await response.json()).toMatchObject({ code: "unknown_job_type" });
});

test("an edit, a pause and a deletion cancel the jobs that have not started, and only those", async () => {
  const world = await start();
  await advanceIntoHour(world, 60);
  await schedule(world, { cron: "*/10 * * * *" });
  await world.sweep();
  await world.runUntilIdle(9 * 60 + 5);
  const { name: _, ...edit } = { ...NIGHTLY, cron: "*/5 * * * *" };
  const edited = await world.request("PUT", "/api/schedules/nightly", { body: edit });
  expect(await edited.json()).toMatchObject({ cron: "*/5 * * * *", revision: 2 });
  const statuses = async (revision?: number) =>
    (await slotJobs(world))
      .filter((job) => revision === undefined || job.schedule_revision === revision)
      .map(({ status }) => status);
  expect(await statuses(1)).toEqual(["completed", "cancelled", "cancelled"]);
  expect(await statuses(2)).toEqual(Array(6).fill("queued"));

  const paused = await world.request("POST", "/api/schedules/nightly/pause");
  expect(await paused.json()).toMatchObject({ enabled: false, nextRunAt: null, revision: 3 });
  expect((await statuses()).filter((status) => status === "queued")).toEqual([]);
  expect(await world.sweep()).toMatchObject({ slotsPlanned: 0 });
  await world.advance(10 * 3600);
  // Once more changes nothing; the slots of the pause are nobody's loss.
  await world.request("POST", "/api/schedules/nightly/pause");
  const resumed = await world.request("POST", "/api/schedules/nightly/resume");
  expect(await resumed.json()).toMatchObject({ enabled: true, revision: 4 });
  expect(await world.sweep()).toMatchObject({ slotsMissed: 0 });
  expect(await shown(world)).toMatchObject({ lastMissed: null });

  const deleted = await world.request("DELETE", "/api/schedules/nightly");
  expect(deleted.status).toBe(204);
  expect((await statuses()).filter((status) => status === "queued")).toEqual([]);
  expect((await world.request("GET", "/api/schedules/nightly")).status).toBe(404);
  expect((await world.request("DELETE", "/api/schedules/nightly")).status).toBe(404);
  expect(await world.sweep()).toMatchObject({ slotsPlanned: 0 });
});

test("an edit leaves a paused schedule paused unless it says otherwise", async () => {
  const world = await start();
  await schedule(world, { enabled: false });
  const { name: _, ...edit } = NIGHTLY;
  const put = async (body: object) =>
    (await world.request("PUT", "/api/schedules/nightly", { body })).json();
  expect(await put(edit)).toMatchObject({ enabled: false });
  expect(await put({ ...edit, enabled: true })).toMatchObject({ enabled: true });
  expect(await put({ ...edit, cron: "0 0 30 2 *" })).toMatchObject({ code: "validation_failed" });
});

test("a run by hand is a job of its own, also while the schedule is paused", async () => {
  const world = await start();
  await schedule(world, { enabled: false });
  const response = await world.request("POST", "/api/schedules/nightly/run");
  expect(response.status).toBe(202);
  const { jobId, statusUrl } = (await response.json()) as { jobId: string; statusUrl: string };
  expect(response.headers.get("location")).toBe(statusUrl);
  await world.qstash.deliverDue();
  expect(await world.job(jobId)).toMatchObject({ status: "completed", payload: NIGHTLY.payload });
  expect((await shown(world)).lastRunAt).not.toBeNull();
  expect(await slotJobs(world)).toEqual([]);
});

test("the answer to a plan that was lost does not lose its messages (I5)", async () => {
  const world = await start();
  await advanceIntoHour(world, 60);
  await schedule(world, { cron: "*/10 * * * *", enabled: false });
  const lost = world.database.neon.setFault({
    action: "lose-answer",
    nth: 1,
    matching: (sql) => sql.startsWith("/* make-slots */"),
  });
  await world.request("POST", "/api/schedules/nightly/resume");
  await lost.struck;
  expect(await slotJobs(world)).toHaveLength(3);
  expect(world.qstash.pending()).toHaveLength(3);
});

test("jobs of a slot are made as not published where their type is paused", async () => {
  const world = await start();
  await advanceIntoHour(world, 60);
  await world.request("POST", `/api/types/${report.type}/pause`, { secret: KEYS.admin });
  await schedule(world, { cron: "*/10 * * * *" });
  const published = (await slotJobs(world)).map(({ triggered_at }) => triggered_at !== null);
  expect(published).toEqual([false, false, false]);
  expect(world.qstash.pending()).toEqual([]);
});

test("without a sweep at hand a late slot of less than an interval still gets its job", async () => {
  const world = await start();
  await advanceIntoHour(world, 60);
  await schedule(world, { cron: "*/10 * * * *" });
  // Three slots have jobs by now; the fourth is late by nine minutes when the sweep comes.
  await world.advance(3 * INTERVAL_SECONDS);
  expect(await world.sweep()).toMatchObject({ slotsMissed: 0, slotsPlanned: 4 });
  expect((await slotJobs(world)).length).toBe(7);
});
