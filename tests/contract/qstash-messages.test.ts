import { Client } from "@upstash/qstash";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type QstashOptions, startQstash } from "../../dev/qstash/start.js";

const url = "https://example.com/a?x=1";

async function setup(options: QstashOptions = {}) {
  const qstash = await startQstash({ mode: "manual", deliver: () => new Response(), ...options });
  onTestFinished(() => qstash.close());
  const client = new Client({ baseUrl: qstash.url, token: qstash.token, devMode: false });
  const get = async (path: string) => {
    const headers = { Authorization: `Bearer ${qstash.token}` };
    const response = await fetch(`${qstash.url}${path}`, { headers });
    return { status: response.status, body: await response.json() };
  };
  return { qstash, client, get };
}

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
});

describe("reading a message", () => {
  test("shows exactly what was asked for, header names in canonical casing", async () => {
    const { qstash, client, get } = await setup({ startAt: 1_800_000_000_000 });
    const { messageId } = await client.publishJSON({
      url,
      body: { n: 1 },
      headers: { "test-header": "v", "bypass-tunnel-reminder": "true" },
      delay: 60,
      retries: 2,
      retryDelay: "1000",
      callback: "https://example.com/cb",
      label: ["a", "b"],
      flowControl: { key: "k", parallelism: 3, rate: 5, period: "1m" },
    });
    expect((await get(`/v2/messages/${messageId}`)).body).toEqual({
      messageId,
      url,
      method: "POST",
      header: {
        "Bypass-Tunnel-Reminder": ["true"],
        "Content-Type": ["application/json"],
        "Test-Header": ["v"],
      },
      body: '{"n":1}',
      maxRetries: 2,
      retryDelayExpression: "1000",
      notBefore: qstash.now() + 60_000,
      createdAt: qstash.now(),
      callback: "https://example.com/cb",
      callerIP: "127.0.0.1",
      label: "a",
      labels: ["a", "b"],
      flowControlKey: "k",
      parallelism: 3,
      rate: 5,
      period: 60,
    });
    expect(await client.messages.get(messageId)).toMatchObject({ messageId, ratePerSecond: 5 });
  });

  test("leaves out what was not set, and shows a body that is no text in base64", async () => {
    const { qstash, client, get } = await setup();
    const empty = await client.publish({ url });
    expect(Object.keys((await get(`/v2/messages/${empty.messageId}`)).body).sort()).toEqual([
      "callerIP",
      "createdAt",
      "header",
      "maxRetries",
      "messageId",
      "method",
      "notBefore",
      "url",
    ]);
    const response = await fetch(`${qstash.url}/v2/publish/${url}`, {
      method: "POST",
      headers: { Authorization: `Bearer ${qstash.token}` },
      body: new Uint8Array([0xff, 0xfe]),
    });
    const { messageId } = (await response.json()) as { messageId: string };
    const shown = (await get(`/v2/messages/${messageId}`)).body;
    expect(shown).toMatchObject({ bodyBase64: "//4=" });
    expect(shown).not.toHaveProperty("body");
  });

  test("works for a moment after delivery, then answers 404", async () => {
    const { qstash, client } = await setup();
    const { messageId } = await client.publish({ url });
    await qstash.deliverDue();
    await client.messages.get(messageId);
    qstash.advance("1m");
    await expect(client.messages.get(messageId)).rejects.toMatchObject({ status: 404 });
    await expect(client.messages.get("msg_unknown")).rejects.toMatchObject({ status: 404 });
  });

  test("hides redacted fields while the delivery keeps them", async () => {
    const bodies: string[] = [];
    const { qstash, client } = await setup({
      deliver: async (request) => {
        bodies.push(`${await request.text()} ${request.headers.get("x-secret")}`);
        return new Response();
      },
    });
    const { messageId } = await client.publish({
      url,
      body: "card",
      headers: { "x-secret": "s", "x-open": "o" },
      redact: { body: true, header: ["X-Secret"] },
    });
    const shown = await client.messages.get(messageId);
    expect(shown.body).toMatch(/^REDACTED:[0-9a-f]{64}$/);
    expect(shown.header).toMatchObject({
      "X-Secret": [expect.stringMatching(/^REDACTED:/)],
      "X-Open": ["o"],
    });
    await qstash.deliverDue();
    expect(bodies).toEqual(["card s"]);
    const { events } = await client.logs();
    expect(JSON.stringify(events)).not.toContain(btoa("card"));
    const all = await client.publish({ url, headers: { "x-a": "1" }, redact: { header: true } });
    expect(JSON.stringify((await client.messages.get(all.messageId)).header)).not.toContain('"1"');
  });
});

describe("cancelling", () => {
  test("one by id: it is never delivered, and a second cancel finds nothing", async () => {
    const { qstash, client } = await setup();
    const { messageId } = await client.publish({ url, delay: 60 });
    expect(await client.messages.cancel(messageId)).toEqual({ cancelled: 1 });
    expect((await qstash.runUntilIdle()).deliveries).toEqual([]);
    await expect(client.messages.cancel(messageId)).rejects.toMatchObject({ status: 404 });
    await expect(client.messages.get(messageId)).rejects.toMatchObject({ status: 404 });
    await expect(client.messages.delete("msg_unknown")).rejects.toMatchObject({ status: 404 });
  });

  test("by ids counts those that were there", async () => {
    const { qstash, client } = await setup();
    const first = await client.publish({ url });
    const second = await client.publish({ url });
    await client.publish({ url });
    const ids = [first.messageId, second.messageId, "msg_unknown"];
    expect(await client.messages.cancel(ids)).toEqual({ cancelled: 2 });
    expect(qstash.pending()).toHaveLength(1);
    expect(await client.messages.deleteMany([first.messageId])).toBe(0);
  });

  type Cancel = Exclude<Parameters<Client["messages"]["cancel"]>[0], string | string[]>;

  test.each<[string, NonNullable<Cancel["filter"]>, number]>([
    ["label", { label: ["a", "other"] }, 2],
    ["labels and host", { label: "b", host: "example.com" }, 1],
    ["url", { url: "https://other.com/p,q?x=1" }, 1],
    ["path", { path: "/a" }, 2],
    ["flow control key", { flowControlKey: "k" }, 1],
    ["queue", { queueName: "q" }, 1],
    ["caller ip", { callerIp: "127.0.0.1" }, 4],
    ["nothing that fits", { label: "a", host: "other.com" }, 0],
    ["time", { fromDate: 1_800_000_000_000, toDate: new Date(1_800_000_000_000) }, 4],
    ["another time", { fromDate: 1_800_000_000_001 }, 0],
  ])("by %s", async (_, filter, cancelled) => {
    const { client } = await setup({ startAt: 1_800_000_000_000 });
    await client.batch([
      { url, label: ["a", "b"] },
      { url, label: "a" },
      { url: "https://other.com/p,q?x=1", flowControl: { key: "k", rate: 1 } },
      { url: "https://third.com", queueName: "q" },
    ]);
    expect(await client.messages.cancel({ filter })).toEqual({ cancelled });
  });

  test("all, and an unknown filter cancels nothing but is refused", async () => {
    const { qstash, client, get } = await setup();
    await client.batch([{ url }, { url }]);
    const response = await fetch(`${qstash.url}/v2/messages?labeel=a`, {
      method: "DELETE",
      headers: { Authorization: `Bearer ${qstash.token}` },
    });
    expect(response.status).toBe(400);
    expect(qstash.pending()).toHaveLength(2);
    expect(await client.messages.cancel({ all: true })).toEqual({ cancelled: 2 });
    expect(await client.messages.deleteAll()).toBe(0);
    expect((await get("/v2/messages/msg_x")).body).toEqual({ error: "message msg_x not found" });
  });

  test("one under way is not retried, but may still complete", async () => {
    const answers = [503, 200];
    const started: string[] = [];
    const gate = Promise.withResolvers<void>();
    const { qstash, client } = await setup({
      deliver: async (request) => {
        started.push(await request.text());
        await gate.promise;
        return new Response("", { status: answers[started.indexOf("1") === 0 ? 0 : 1] ?? 200 });
      },
    });
    const { messageId } = await client.publish({ url, body: "1" });
    const delivering = qstash.deliverDue();
    await expect.poll(() => started.length).toBe(1);
    expect(await client.messages.cancel(messageId)).toEqual({ cancelled: 1 });
    gate.resolve();
    expect(await delivering).toMatchObject([{ status: 503, outcome: "canceled" }]);
    expect((await client.dlq.listMessages()).messages).toEqual([]);
    const { events } = await client.logs({ messageIds: [messageId] });
    expect(events.map(({ state }) => state)).toEqual([
      "CANCELED",
      "ERROR",
      "CANCEL_REQUESTED",
      "ACTIVE",
      "CREATED",
    ]);
  });
});
