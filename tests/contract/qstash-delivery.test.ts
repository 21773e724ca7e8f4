import { Client, Receiver } from "@upstash/qstash";
import { describe, expect, onTestFinished, test } from "vitest";
import { type QstashOptions, startQstash } from "../../dev/qstash/start.js";

type Answer = () => Response | Promise<Response>;

/** A stand-in whose destination gives these answers, the last one again and again. */
async function setup(answers: Answer[] = [], options: QstashOptions = {}) {
  const received: { url: string; method: string; headers: Headers; body: string }[] = [];
  const qstash = await startQstash({
    mode: "manual",
    deliver: async (request) => {
      const { url, method, headers } = request;
      received.push({ url, method, headers, body: await request.text() });
      const answer = answers.length > 1 ? answers.shift() : answers[0];
      return answer ? answer() : new Response("fine");
    },
    ...options,
  });
  onTestFinished(() => qstash.close());
  const client = new Client({ baseUrl: qstash.url, token: qstash.token, devMode: false });
  return { qstash, client, received };
}

const url = "https://example.com/api/process?x=1";
const down = () => new Response("down", { status: 503 });
const steered = (name: string, value: string) => () =>
  new Response("", { status: 429, headers: { [name]: value } });

describe("the delivery request", () => {
  test("carries the method, the body, the forwarded headers and QStash's own", async () => {
    const { qstash, client, received } = await setup();
    const { messageId } = await client.publish({
      url,
      method: "PATCH",
      body: '{"ü":1}',
      headers: { "Content-Type": "application/json", "X-Tenant": "a" },
      label: "l",
    });
    await qstash.deliverDue();
    const [request] = received;
    expect(request).toMatchObject({ url, method: "PATCH", body: '{"ü":1}' });
    expect(Object.fromEntries(request?.headers ?? [])).toEqual({
      "content-type": "application/json",
      "user-agent": "Upstash-QStash",
      "x-tenant": "a",
      "upstash-message-id": messageId,
      "upstash-retried": "0",
      "upstash-caller-ip": "127.0.0.1",
      "upstash-region": "EU-CENTRAL-1",
      "upstash-signature": expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
    });
  });

  test("a GET carries no body, and its signature says so", async () => {
    const { qstash, client, received } = await setup();
    await client.publish({ url, method: "GET", body: "ignored" });
    await qstash.deliverDue();
    expect(received).toMatchObject([{ method: "GET", body: "" }]);
    const { current, next } = qstash.keys();
    const receiver = new Receiver({
      currentSigningKey: current,
      nextSigningKey: next,
      devMode: false,
    });
    const signature = received[0]?.headers.get("upstash-signature") ?? "";
    expect(await receiver.verify({ signature, body: "", url })).toBe(true);
  });

  test("goes to the rewritten address while the signature keeps the destination", async () => {
    const { qstash, client, received } = await setup([], {
      rewrite: { "https://example.com": "http://127.0.0.1:3000" },
    });
    await client.publish({ url });
    await client.publish({ url: "https://example.community/" });
    await qstash.deliverDue();
    expect(received.map((request) => request.url)).toEqual([
      "http://127.0.0.1:3000/api/process?x=1",
      "https://example.community/",
    ]);
    const payload = received[0]?.headers.get("upstash-signature")?.split(".")[1] ?? "";
    expect(JSON.parse(Buffer.from(payload, "base64url").toString())).toMatchObject({ sub: url });
  });
});

describe("retries", () => {
  test("keep the message id, count up, and wait e^(2.5 n) seconds, then a dead letter", async () => {
    const { qstash, client, received } = await setup([down]);
    const { messageId } = await client.publish({ url, retries: 3 });
    const { deliveries } = await qstash.runUntilIdle();
    expect(deliveries.map(({ outcome }) => outcome)).toEqual(["retry", "retry", "retry", "failed"]);
    expect(received.map(({ headers }) => headers.get("upstash-retried"))).toEqual([
      "0",
      "1",
      "2",
      "3",
    ]);
    expect(new Set(received.map(({ headers }) => headers.get("upstash-message-id")))).toEqual(
      new Set([messageId]),
    );
    const signatures = received.map(({ headers }) => headers.get("upstash-signature"));
    expect(new Set(signatures).size).toBe(4);
    const { events } = await client.logs({ messageIds: [messageId] });
    const waits = events
      .filter(({ state }) => state === "RETRY")
      .map(({ time, nextDeliveryTime }) => (nextDeliveryTime ?? 0) - time);
    expect(waits).toEqual([1_808_042, 148_413, 12_182]);
    expect((await client.dlq.listMessages()).messages).toMatchObject([{ messageId }]);
  });

  test("default to three, and zero means one delivery", async () => {
    const { qstash, client, received } = await setup([down]);
    await client.publish({ url });
    await qstash.runUntilIdle();
    expect(received).toHaveLength(4);
    await client.publish({ url, retries: 0 });
    await qstash.runUntilIdle();
    expect(received).toHaveLength(5);
  });

  test("a retry-delay expression replaces the backoff and sees the retry count from 0", async () => {
    const { qstash, client } = await setup([down]);
    await client.publish({ url, retries: 3, retryDelay: "1000 * (1 + retried)" });
    const { deliveries } = await qstash.runUntilIdle();
    const due = deliveries.map(({ nextDeliveryAt }) => nextDeliveryAt ?? 0);
    expect((due[1] ?? 0) - (due[0] ?? 0)).toBe(2000);
    expect((due[2] ?? 0) - (due[1] ?? 0)).toBe(3000);
  });

  test("an expression that is none is refused at once", async () => {
    const { client } = await setup();
    await expect(client.publish({ url, retryDelay: "process.exit(1)" })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining("Upstash-Retry-Delay"),
    });
  });

  test.each([
    ["Retry-After", "120", 120_000],
    ["Retry-After", "0", 0],
    ["Retry-After", "Fri, 15 Jan 2027 08:02:00 GMT", 120_000],
    ["Retry-After", "6m5s", 365_000],
    ["X-RateLimit-Reset", "30", 30_000],
    ["X-RateLimit-Reset-Requests", "1m", 60_000],
    ["X-RateLimit-Reset-Tokens", "1500ms", 1_500],
    ["Retry-After", "86401", 12_182],
    ["Retry-After", "soon", 12_182],
  ])("%s: %s is obeyed for %i ms", async (name, value, expectedMs) => {
    const { qstash, client } = await setup([steered(name, value)], {
      startAt: Date.parse("2027-01-15T08:00:00Z"),
    });
    await client.publish({ url, retries: 1, retryDelay: name === "Retry-After" ? undefined : "7" });
    const [result] = await qstash.deliverDue({ maxDeliveries: 100 });
    expect((result?.nextDeliveryAt ?? 0) - qstash.now()).toBe(expectedMs);
  });

  test("489 with the header ends at once; either alone is an ordinary failure", async () => {
    const header = { "Upstash-NonRetryable-Error": "true" };
    const { qstash, client } = await setup([
      () => new Response("never", { status: 489, headers: header }),
      () => new Response("never", { status: 489 }),
      () => new Response("never", { status: 400, headers: header }),
    ]);
    const outcomes: (string | undefined)[] = [];
    for (let sent = 0; sent < 3; sent += 1) {
      const { messageId } = await client.publish({ url });
      outcomes.push((await qstash.deliver(messageId)).outcome);
    }
    expect(outcomes).toEqual(["failed", "retry", "retry"]);
  });

  test("a redirect is a failure and is not followed", async () => {
    const { qstash, client, received } = await setup([
      () => new Response(null, { status: 307, headers: { Location: "https://example.com/b" } }),
    ]);
    await client.publish({ url, retries: 0 });
    expect(await qstash.deliverDue()).toMatchObject([{ status: 307, outcome: "failed" }]);
    expect(received).toHaveLength(1);
  });

  test("a destination that cannot be reached is a failure with a reason", async () => {
    const { qstash, client } = await setup([
      () => Promise.reject(new TypeError("fetch failed", { cause: new Error("ECONNREFUSED") })),
    ]);
    await client.publish({ url });
    expect(await qstash.deliverDue()).toMatchObject([
      { status: 0, outcome: "retry", error: "fetch failed: ECONNREFUSED" },
    ]);
  });

  test("a delivery past its timeout is aborted and retried while the destination still runs", async () => {
    const started = Promise.withResolvers<void>();
    const { qstash, client } = await setup([
      () => {
        started.resolve();
        return new Promise<Response>(() => {});
      },
    ]);
    await client.publish({ url, timeout: 30 });
    const delivering = qstash.deliverDue();
    await started.promise;
    qstash.advance("29s");
    expect(qstash.pending()).toEqual([]);
    qstash.advance("1s");
    expect(await delivering).toMatchObject([{ outcome: "retry", error: "delivery timed out" }]);
  });

  test("the plan's longest answer time holds where a longer timeout was asked for", async () => {
    const started = Promise.withResolvers<void>();
    const hang = () => {
      started.resolve();
      return new Promise<Response>(() => {});
    };
    const { qstash, client } = await setup([hang], { quota: "free" });
    await client.publish({ url, timeout: "1h" });
    const delivering = qstash.deliverDue();
    await started.promise;
    qstash.advance("15m");
    expect(await delivering).toMatchObject([{ error: "delivery timed out" }]);
  });
});

describe("callbacks", () => {
  const callback = "https://example.com/callback";
  const failureCallback = "https://example.com/failed";

  test("report every attempt as signed messages of their own", async () => {
    const { qstash, client, received } = await setup([
      down,
      () => new Response("ok"),
      () => new Response("done"),
    ]);
    const { messageId } = await client.publish({
      url,
      body: "in",
      callback,
      headers: { "Upstash-Callback-Forward-X-Key": "k", "Upstash-Callback-Method": "PUT" },
    });
    await qstash.runUntilIdle();
    const reports = received.filter((request) => request.url === callback);
    expect(reports.map(({ body }) => JSON.parse(body))).toMatchObject([
      { status: 503, retried: 0, sourceMessageId: messageId, body: btoa("down"), url },
      { status: 200, retried: 1, maxRetries: 3, sourceBody: btoa("in"), method: "POST" },
    ]);
    expect(JSON.parse(reports[0]?.body ?? "")).not.toHaveProperty("dlqId");
    expect(reports[0]?.method).toBe("PUT");
    expect(reports[0]?.headers.get("x-key")).toBe("k");
    expect(reports[0]?.headers.get("upstash-message-id")).not.toBe(messageId);
    const payload = reports[0]?.headers.get("upstash-signature")?.split(".")[1] ?? "";
    expect(JSON.parse(Buffer.from(payload, "base64url").toString())).toMatchObject({
      sub: callback,
    });
  });

  test("the failure callback comes once, at the end, with the dead letter's id", async () => {
    const { qstash, client, received } = await setup([down, down, () => new Response("noted")]);
    await client.publish({ url, retries: 1, failureCallback });
    await qstash.runUntilIdle();
    const reports = received.filter((request) => request.url === failureCallback);
    expect(reports).toHaveLength(1);
    const [letter] = (await client.dlq.listMessages()).messages;
    const report = JSON.parse(reports[0]?.body ?? "");
    expect(report).toMatchObject({ dlqId: letter?.dlqId, retried: 1, maxRetries: 1, status: 503 });
    expect(report.sourceHeader).toEqual({});
    expect(report.createdAt).toMatch(/^\d{13}$/);
  });

  test("a delayed callback is refused", async () => {
    const { client } = await setup();
    const headers = { "Upstash-Callback-Delay": "10s" };
    await expect(client.publish({ url, callback, headers })).rejects.toMatchObject({ status: 400 });
  });
});
