import { Client } from "@upstash/qstash";
import { describe, expect, onTestFinished, test } from "vitest";
import { type QstashOptions, startQstash } from "../../dev/qstash/start.js";

const url = "https://example.com/a";

async function setup(
  answer: () => Response = () => new Response("out"),
  options: QstashOptions = {},
) {
  const qstash = await startQstash({ mode: "manual", deliver: answer, ...options });
  onTestFinished(() => qstash.close());
  const client = new Client({ baseUrl: qstash.url, token: qstash.token, devMode: false });
  const get = async (path: string) => {
    const headers = { Authorization: `Bearer ${qstash.token}` };
    const response = await fetch(`${qstash.url}${path}`, { headers });
    return { status: response.status, body: await response.json() };
  };
  return { qstash, client, get };
}

test("a delivery is CREATED, ACTIVE, DELIVERED; newest first, under both names", async () => {
  const { qstash, client, get } = await setup();
  const { messageId } = await client.publish({ url, body: "in" });
  await qstash.deliverDue();
  const { events, logs } = await client.logs();
  expect(logs).toBe(events);
  expect(events.map(({ state }) => state)).toEqual(["DELIVERED", "ACTIVE", "CREATED"]);
  expect(events[0]).toMatchObject({ messageId, url, time: qstash.now(), body: btoa("in") });
  const raw = (await get("/v2/logs")).body;
  expect(raw.logs).toEqual(raw.events);
  expect(raw).not.toHaveProperty("cursor");
  expect((await client.events()).events).toHaveLength(3);
});

test("a failure shows the answer and the next delivery time; the last one is FAILED", async () => {
  const { qstash, client } = await setup(
    () => new Response("broken", { status: 500, headers: { "x-why": "disk" } }),
  );
  await client.publish({ url, retries: 1, timeout: 30 });
  await qstash.runUntilIdle();
  const { events } = await client.logs();
  expect(events.map(({ state }) => state)).toEqual([
    "FAILED",
    "ERROR",
    "ACTIVE",
    "RETRY",
    "ERROR",
    "ACTIVE",
    "CREATED",
  ]);
  expect(events[4]).toMatchObject({
    state: "ERROR",
    responseStatus: 500,
    responseBody: btoa("broken"),
    responseHeaders: { "X-Why": ["disk"] },
    error: expect.stringContaining("500"),
    timeout: 30_000,
    maxRetries: 1,
  });
  expect(events[3]).toMatchObject({ nextDeliveryTime: (events[3]?.time ?? 0) + 12_182 });
  expect(events[6]).not.toHaveProperty("responseStatus");
});

describe("filters", () => {
  async function filled() {
    const fixture = await setup();
    await fixture.client.batch([
      { url, label: ["a", "b"] },
      { url: "https://other.com/b", label: "c", flowControl: { key: "k", rate: 9 } },
      { url: "https://third.com/c", queueName: "q" },
    ]);
    await fixture.qstash.deliverDue();
    return fixture;
  }

  type Filter = NonNullable<NonNullable<Parameters<Client["logs"]>[0]>["filter"]>;

  test.each<[Filter, number]>([
    [{ state: "DELIVERED" }, 3],
    [{ state: "IN_PROGRESS" }, 3],
    [{ url }, 3],
    [{ host: ["other.com", "third.com"] }, 6],
    [{ path: "/a" }, 3],
    [{ label: "b" }, 3],
    [{ label: ["a", "c"], state: "CREATED" }, 2],
    [{ flowControlKey: "k" }, 3],
    [{ queueName: "q" }, 3],
    [{ callerIp: "10.0.0.1" }, 0],
    [{ fromDate: 1 }, 9],
    [{ toDate: 1 }, 0],
  ])("%j finds %i entries", async (filter, count) => {
    const { client } = await filled();
    expect((await client.logs({ filter })).events).toHaveLength(count);
  });

  test("several message ids, and a comma list in one value", async () => {
    const { qstash, client, get } = await setup();
    const sent = [await client.publish({ url }), await client.publish({ url })];
    await client.publish({ url });
    const ids = sent.map(({ messageId }) => messageId);
    await qstash.deliverDue();
    expect((await client.logs({ messageIds: ids })).events).toHaveLength(6);
    expect((await get(`/v2/events?messageIds=${ids.join(",")}`)).body.events).toHaveLength(6);
    expect((await get(`/v2/events?messageId=${ids[0]}`)).body.events).toHaveLength(3);
  });

  test("both spellings of cancelled are understood", async () => {
    const { client, get } = await setup();
    const { messageId } = await client.publish({ url });
    await client.messages.cancel(messageId);
    for (const spelling of ["CANCELED", "CANCELLED"]) {
      const { body } = await get(`/v2/events?state=${spelling}`);
      expect(body.events).toMatchObject([{ state: "CANCELED", messageId }]);
    }
  });

  test("an unknown filter and a malformed value are refused", async () => {
    const { get } = await setup();
    for (const query of ["labeel=a", "fromDate=yesterday", "count=0", "cursor=x"]) {
      const { status, body } = await get(`/v2/events?${query}`);
      expect(status, query).toBe(400);
      expect(body).toEqual({ error: expect.any(String) });
    }
  });
});

test("pages follow the cursor without gaps or repeats, also while entries are added", async () => {
  const { qstash, client } = await setup();
  for (let sent = 0; sent < 5; sent += 1) await client.publish({ url });
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.logs({ count: 2, cursor });
    seen.push(...page.events.map(({ messageId }) => messageId));
    cursor = page.cursor;
    await client.publish({ url });
  } while (cursor);
  expect(seen).toHaveLength(5);
  expect(new Set(seen).size).toBe(5);
  expect(qstash.pending()).toHaveLength(8);
});

test("entries past the plan's retention are gone", async () => {
  const { qstash, client } = await setup(undefined, { quota: "free" });
  await client.publish({ url });
  qstash.advance("3d");
  expect((await client.logs()).events).toHaveLength(1);
  qstash.advance("1s");
  expect((await client.logs()).events).toEqual([]);
});
