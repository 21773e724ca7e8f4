import { Client } from "@upstash/qstash";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type QstashOptions, startQstash } from "../../dev/qstash/start.js";

const destination = "https://example.com/sweep?x=1";

async function setup(options: QstashOptions = {}) {
  const received: { body: string; headers: Headers }[] = [];
  const qstash = await startQstash({
    mode: "manual",
    startAt: new Date("2027-01-15T10:00:30Z"),
    deliver: async (request) => {
      received.push({ body: await request.text(), headers: request.headers });
      return new Response();
    },
    ...options,
  });
  onTestFinished(() => qstash.close());
  const client = new Client({ baseUrl: qstash.url, token: qstash.token, devMode: false });
  const request = async (method: string, path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${qstash.url}${path}`, {
      method,
      headers: { Authorization: `Bearer ${qstash.token}`, ...headers },
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
  };
  return { qstash, client, received, request };
}

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
});

describe("managing", () => {
  test("create, get, list and delete", async () => {
    const { qstash, client, request } = await setup();
    const { scheduleId } = await client.schedules.create({
      destination,
      cron: " */5 * * * * ",
      body: '{"n":1}',
      headers: { "x-a": "1" },
      method: "PUT",
      retries: 1,
      delay: 30,
      timeout: 20,
      callback: "https://example.com/cb",
      label: "sweep",
      flowControl: { key: "k", rate: 5 },
    });
    expect(scheduleId).toMatch(/^scd_/);
    expect((await request("GET", `/v2/schedules/${scheduleId}`)).body).toEqual({
      scheduleId,
      cron: "*/5 * * * *",
      destination,
      method: "PUT",
      header: { "Content-Type": ["application/json"], "X-A": ["1"] },
      body: '{"n":1}',
      retries: 1,
      delay: 30,
      timeout: 20,
      callback: "https://example.com/cb",
      callerIP: "127.0.0.1",
      isPaused: false,
      flowControlKey: "k",
      rate: 5,
      period: 1,
      label: "sweep",
      labels: ["sweep"],
      createdAt: qstash.now(),
      nextScheduleTime: Date.parse("2027-01-15T10:05:00Z"),
    });
    expect(await client.schedules.get(scheduleId)).toMatchObject({ ratePerSecond: 5 });
    expect(await client.schedules.list()).toHaveLength(1);
    await client.schedules.delete(scheduleId);
    await expect(client.schedules.get(scheduleId)).rejects.toMatchObject({ status: 404 });
    await expect(client.schedules.delete(scheduleId)).rejects.toMatchObject({ status: 404 });
  });

  test("a known id is overwritten as a whole: the body goes when it is not sent again", async () => {
    const { client } = await setup();
    const base = { destination, scheduleId: "sweep-1", cron: "0 * * * *" };
    await client.schedules.create({ ...base, body: "old", label: "old" });
    const { scheduleId } = await client.schedules.create({ ...base, cron: "5 * * * *" });
    expect(scheduleId).toBe("sweep-1");
    const schedule = await client.schedules.get("sweep-1");
    expect(schedule.cron).toBe("5 * * * *");
    expect(schedule).not.toHaveProperty("body");
    expect(schedule).not.toHaveProperty("label");
    expect(await client.schedules.list()).toHaveLength(1);
  });

  test.each([
    ["* * * *", "too few fields"],
    ["0 0 * * * *", "a seconds field"],
    ["61 * * * *", "a minute that does not exist"],
    ["0 0 31 2 *", "a date that never comes"],
    ["CRON_TZ=Mars/Base 0 0 * * *", "an unknown zone"],
  ])("%s is refused (%s)", async (cron) => {
    const { client } = await setup();
    await expect(client.schedules.create({ destination, cron })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("invalid cron expression"),
    });
  });

  test("a bad id is refused with 400, a schedule beyond the plan with 412", async () => {
    const { client } = await setup({ quota: "free" });
    const cron = "* * * * *";
    await expect(
      client.schedules.create({ destination, cron, scheduleId: "a b" }),
    ).rejects.toMatchObject({ status: 400 });
    for (let made = 0; made < 10; made += 1) await client.schedules.create({ destination, cron });
    await expect(client.schedules.create({ destination, cron })).rejects.toMatchObject({
      status: 412,
    });
  });

  test("a repeated deduplication id makes no second schedule", async () => {
    const { client } = await setup();
    const headers = { "Upstash-Deduplication-Id": "once" };
    const first = await client.schedules.create({ destination, cron: "* * * * *", headers });
    const second = await client.schedules.create({ destination, cron: "* * * * *", headers });
    expect(second.scheduleId).toBe(first.scheduleId);
    expect(await client.schedules.list()).toHaveLength(1);
  });

  test("a publish with a cron header makes a schedule, the older way", async () => {
    const { client, request } = await setup();
    const { body } = await request("POST", `/v2/publish/${destination}`, {
      "Upstash-Cron": "* * * * *",
    });
    expect(await client.schedules.get(body.scheduleId)).toMatchObject({ destination });
  });
});

describe("firing", () => {
  test("publishes one message for every slot, with the schedule's id and delay", async () => {
    const { qstash, client, received } = await setup();
    const { scheduleId } = await client.schedules.create({
      destination,
      cron: "*/10 * * * *",
      body: "tick",
      delay: 60,
    });
    qstash.advance("9m30s");
    expect(qstash.pending()).toMatchObject([
      { body: "tick", scheduleId, dueAt: Date.parse("2027-01-15T10:11:00Z"), isDue: false },
    ]);
    qstash.advance("20m");
    expect(qstash.pending()).toHaveLength(3);
    qstash.advance("1m");
    await qstash.deliverDue();
    expect(received).toHaveLength(3);
    expect(received[0]?.headers.get("upstash-schedule-id")).toBe(scheduleId);
    expect(await client.schedules.get(scheduleId)).toMatchObject({
      lastScheduleTime: Date.parse("2027-01-15T10:30:00Z"),
      nextScheduleTime: Date.parse("2027-01-15T10:40:00Z"),
      lastScheduleStates: expect.toSatisfy((states: object) =>
        Object.values(states).every((state) => state === "SUCCESS"),
      ),
    });
    expect((await client.logs({ filter: { scheduleId } })).events).toHaveLength(9);
  });

  test("goes by the time zone, across the change to summer time", async () => {
    const { qstash, client } = await setup({ startAt: new Date("2027-03-27T12:00:00Z") });
    const { scheduleId } = await client.schedules.create({
      destination,
      cron: "CRON_TZ=Europe/Berlin 0 9 * * *",
    });
    const nextAt = async () =>
      new Date((await client.schedules.get(scheduleId)).nextScheduleTime ?? 0).toJSON();
    expect(await nextAt()).toBe("2027-03-28T07:00:00.000Z");
    expect((await client.schedules.get(scheduleId)).cron).toBe("CRON_TZ=Europe/Berlin 0 9 * * *");
    qstash.advance("2d");
    expect(await nextAt()).toBe("2027-03-30T07:00:00.000Z");
  });

  test("a paused schedule skips its slots and goes on after resume", async () => {
    const { qstash, client, request } = await setup();
    const { scheduleId } = await client.schedules.create({ destination, cron: "0 * * * *" });
    await client.schedules.pause({ schedule: scheduleId });
    expect(await client.schedules.get(scheduleId)).toMatchObject({ isPaused: true });
    qstash.advance("5h");
    expect(qstash.pending()).toEqual([]);
    await client.schedules.resume({ schedule: scheduleId });
    qstash.advance("1h");
    expect(qstash.pending()).toHaveLength(1);
    // The documentation says POST where the client sends PATCH.
    expect((await request("POST", `/v2/schedules/${scheduleId}/pause`)).status).toBe(200);
    expect((await request("POST", `/v2/schedules/${scheduleId}/resume`)).status).toBe(200);
  });

  test("goes through a queue where it names one", async () => {
    const { qstash, client } = await setup();
    await client.schedules.create({ destination, cron: "0 * * * *", queueName: "sweeps" });
    qstash.advance("2h");
    expect(qstash.pending()).toMatchObject([{ queueName: "sweeps" }, { queueName: "sweeps" }]);
    expect(await client.queue({ queueName: "sweeps" }).get()).toMatchObject({ lag: 2 });
  });

  test("a url group that is gone shows as the schedule's error, which goes on", async () => {
    const { qstash, client } = await setup();
    await client.urlGroups.addEndpoints({ name: "group", endpoints: [{ url: destination }] });
    const { scheduleId } = await client.schedules.create({
      destination: "group",
      cron: "0 * * * *",
    });
    await client.urlGroups.delete("group");
    qstash.advance("1h");
    expect(await client.schedules.get(scheduleId)).toMatchObject({
      error: "url group group not found",
      nextScheduleTime: Date.parse("2027-01-15T12:00:00Z"),
    });
  });

  test("runUntilIdle fires the schedules it passes but does not wait for them", async () => {
    const { qstash, client, received } = await setup();
    await client.schedules.create({ destination, cron: "0 * * * *", body: "tick" });
    expect(await qstash.runUntilIdle()).toMatchObject({ deliveries: [], isIdle: true });
    await client.publish({ url: destination, body: "late", delay: "150m" });
    const { advancedMs } = await qstash.runUntilIdle();
    expect(advancedMs).toBe(150 * 60_000);
    expect(received.map(({ body }) => body)).toEqual(["tick", "tick", "late"]);
  });
});
