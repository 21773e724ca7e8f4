import { Client } from "@upstash/qstash";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type QstashOptions, startQstash } from "../../dev/qstash/start.js";

const url = "https://example.com/process";

async function setup(options: QstashOptions = {}) {
  const qstash = await startQstash({ mode: "manual", deliver: () => new Response(), ...options });
  onTestFinished(() => qstash.close());
  const client = new Client({
    baseUrl: qstash.url,
    token: qstash.token,
    devMode: false,
    // No waiting between the client's own attempts.
    retry: { retries: 2, backoff: () => 0 },
  });
  return { qstash, client };
}

/** A stand-in that notes what its destination receives. */
async function recorded(options: QstashOptions = {}) {
  const received: { body: string; retried: string | null; signature: string | null }[] = [];
  const fixture = await setup({
    deliver: async (request) => {
      received.push({
        body: await request.text(),
        retried: request.headers.get("upstash-retried"),
        signature: request.headers.get("upstash-signature"),
      });
      return new Response("done");
    },
    ...options,
  });
  return { ...fixture, received };
}

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  vi.spyOn(console, "warn").mockImplementation(() => {});
});

describe("deliveries", () => {
  test("deliverTwice sends two identical requests at once and settles the message once", async () => {
    const { qstash, client, received } = await recorded();
    const { messageId } = await client.publish({ url, body: "x" });
    const results = await qstash.deliverTwice(messageId);
    expect(results).toMatchObject([{ outcome: "delivered" }, { outcome: "delivered" }]);
    expect(received[0]).toEqual(received[1]);
    expect(qstash.pending()).toEqual([]);
    expect((await client.logs()).events.map(({ state }) => state)).toEqual([
      "DELIVERED",
      "ACTIVE",
      "CREATED",
    ]);
  });

  test("deliverTwice: one success of the two is enough", async () => {
    const statuses = [500, 200];
    const { qstash, client } = await setup({
      deliver: () => new Response("", { status: statuses.shift() }),
    });
    const { messageId } = await client.publish({ url });
    const results = await qstash.deliverTwice(messageId);
    expect(results).toMatchObject([
      { status: 500, outcome: "delivered" },
      { status: 200, outcome: "delivered" },
    ]);
  });

  test("duplicate redelivers a message, also one that was answered with 200", async () => {
    const { qstash, client, received } = await recorded();
    const { messageId } = await client.publish({ url, body: "x" });
    await qstash.deliverDue();
    qstash.duplicate(messageId, { copies: 2, afterMs: 5_000 });
    expect(qstash.pending()).toMatchObject([{ messageId, isCopy: true, isDue: false }, {}]);
    qstash.advance(5_000);
    await qstash.deliverDue();
    expect(received.map(({ body, retried }) => [body, retried])).toEqual([
      ["x", "0"],
      ["x", "0"],
      ["x", "0"],
    ]);
  });

  test("a failing copy is not retried and makes no dead letter", async () => {
    const { qstash, client } = await setup({ deliver: () => new Response("", { status: 500 }) });
    const { messageId } = await client.publish({ url, retries: 0 });
    qstash.duplicate(messageId);
    await qstash.runUntilIdle();
    expect((await client.dlq.listMessages()).messages).toHaveLength(1);
  });

  test("drop loses a message that counts as delivered", async () => {
    const { qstash, client, received } = await recorded();
    const { messageId } = await client.publish({ url });
    qstash.drop(messageId);
    expect((await qstash.runUntilIdle()).deliveries).toEqual([]);
    expect(received).toEqual([]);
    expect((await client.dlq.listMessages()).messages).toEqual([]);
    expect(() => qstash.drop(messageId)).toThrow("is not waiting");
  });

  test("loseAnswer: the destination completes, the service retries", async () => {
    const { qstash, client, received } = await recorded();
    const { messageId } = await client.publish({ url });
    await client.publish({ url, delay: 1 });
    qstash.loseAnswer(messageId);
    const { deliveries } = await qstash.runUntilIdle();
    expect(deliveries).toMatchObject([
      { messageId, status: 200, body: "done", answerLost: true, outcome: "retry" },
      { answerLost: false, outcome: "delivered" },
      { messageId, answerLost: false, outcome: "delivered", retried: 1 },
    ]);
    expect(received.map(({ retried }) => retried)).toEqual(["0", "0", "1"]);
    await client.publish({ url });
    qstash.loseAnswer("next");
    expect(await qstash.deliverNext()).toMatchObject({ answerLost: true });
  });

  test("an early delivery comes before its time, and only when asked for", async () => {
    const { qstash, client, received } = await recorded();
    const { messageId } = await client.publish({ url, delay: 60 });
    await expect(qstash.deliver(messageId)).rejects.toThrow("is not due");
    expect(await qstash.deliver(messageId, { early: true })).toMatchObject({
      outcome: "delivered",
    });
    expect(received).toHaveLength(1);
  });

  test("deliver passes a queue and a flow control that would hold the message", async () => {
    const { qstash, client } = await recorded();
    const queue = client.queue({ queueName: "q" });
    await queue.upsert({ paused: true });
    const first = await queue.enqueue({ url });
    const second = await client.publish({ url, flowControl: { key: "k", parallelism: 1 } });
    await client.flowControl.pause("k");
    await qstash.deliver(first.messageId);
    await qstash.deliver(second.messageId);
    expect(qstash.pending()).toEqual([]);
  });

  test("reorder delivers in the given order, and never early", async () => {
    const { qstash, client, received } = await recorded();
    const sent: string[] = [];
    for (const [body, delay] of [
      ["a", 0],
      ["b", 0],
      ["c", 30],
    ] as const) {
      sent.push((await client.publish({ url, body, delay })).messageId);
    }
    qstash.reorder([sent[1] ?? "", sent[2] ?? "", sent[0] ?? ""]);
    await qstash.deliverDue();
    expect(received.map(({ body }) => body)).toEqual(["b"]);
    await qstash.runUntilIdle();
    expect(received.map(({ body }) => body)).toEqual(["b", "c", "a"]);
  });

  test("reorder without a list reverses what waits", async () => {
    const { qstash, client, received } = await recorded();
    await client.batch(["a", "b", "c"].map((body) => ({ url, body })));
    qstash.reorder();
    for (let sent = 0; sent < 3; sent += 1) await qstash.deliverNext();
    expect(received.map(({ body }) => body)).toEqual(["c", "b", "a"]);
    expect(await qstash.deliverNext()).toBeUndefined();
  });
});

describe("publishes", () => {
  test.each([429, 500, 503])(
    "a refusal with %i lasts as often as asked and stores nothing",
    async (status) => {
      const { qstash, client } = await setup();
      qstash.refusePublishes({ status, times: 2 });
      await expect(client.publish({ url })).rejects.toMatchObject({ status });
      await expect(client.batch([{ url }])).rejects.toMatchObject({ status });
      await client.publish({ url });
      expect(qstash.pending()).toHaveLength(1);
      expect(qstash.counts()).toMatchObject({
        publishRequests: 3,
        refusedPublishes: 2,
        messages: 1,
      });
    },
  );

  test("a 429 is a burst limit to the client", async () => {
    const { qstash, client } = await setup();
    qstash.refusePublishes({ status: 429 });
    await expect(client.queue({ queueName: "q" }).enqueue({ url })).rejects.toMatchObject({
      name: "QstashRatelimitError",
      remaining: "0",
    });
  });

  test("cut: the message is accepted, the answer lost; a stable id makes the client's retry safe", async () => {
    const { qstash, client } = await setup();
    qstash.refusePublishes("cut", { times: 1 });
    const result = await client.publish({ url, deduplicationId: "job_1" });
    expect(result).toMatchObject({ deduplicated: true });
    expect(qstash.pending()).toHaveLength(1);
    qstash.refusePublishes("cut", { times: 1 });
    await client.publish({ url });
    // The control: without an id, the retry is a second message.
    expect(qstash.pending()).toHaveLength(3);
  });

  test("hang: no answer comes, nothing is accepted, and closing ends the wait", async () => {
    const { qstash } = await setup();
    qstash.refusePublishes("hang");
    const hanging = fetch(`${qstash.url}/v2/publish/${url}`, {
      method: "POST",
      headers: { Authorization: `Bearer ${qstash.token}` },
    });
    const failed = hanging.then(
      () => false,
      () => true,
    );
    await expect.poll(() => qstash.counts().refusedPublishes).toBe(1);
    expect(qstash.pending()).toEqual([]);
    await qstash.close();
    expect(await failed).toBe(true);
  });

  test("null lifts the fault; other calls were never disturbed", async () => {
    const { qstash, client } = await setup();
    qstash.refusePublishes({ status: 500 });
    expect((await client.logs()).events).toEqual([]);
    qstash.refusePublishes(null);
    await client.publish({ url });
  });
});

describe("faults by chance", () => {
  async function soak(seed: number) {
    const { qstash, client, received } = await recorded({ seed });
    qstash.setFaults({ duplicateRate: 0.2, dropRate: 0.1, loseAnswerRate: 0.2, shuffle: true });
    await client.batch(Array.from({ length: 100 }, (_, index) => ({ url, body: `${index}` })));
    const { deliveries, isIdle } = await qstash.runUntilIdle();
    expect(isIdle).toBe(true);
    return { deliveries, order: received.map(({ body }) => body) };
  }

  test("drop, duplicate and lose some, in random order, and end", async () => {
    const { deliveries, order } = await soak(7);
    expect(deliveries.filter(({ outcome }) => outcome === "dropped").length).toBeGreaterThan(0);
    expect(deliveries.filter(({ answerLost }) => answerLost).length).toBeGreaterThan(0);
    expect(order.length).toBeGreaterThan(new Set(order).size);
    expect(order.slice(0, 20)).not.toEqual(Array.from({ length: 20 }, (_, index) => `${index}`));
  });

  test("repeat with the same seed", async () => {
    expect((await soak(7)).order).toEqual((await soak(7)).order);
    expect((await soak(8)).order).not.toEqual((await soak(7)).order);
  });

  test("earlySeconds brings every delivery that much too early", async () => {
    const { qstash, client } = await recorded();
    qstash.setFaults({ earlySeconds: 30 });
    await client.publish({ url, delay: 60 });
    const { advancedMs, deliveries } = await qstash.runUntilIdle();
    expect([advancedMs, deliveries.length]).toEqual([30_000, 1]);
  });
});
