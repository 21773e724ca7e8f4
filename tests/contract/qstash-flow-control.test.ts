import { Client } from "@upstash/qstash";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type QstashOptions, startQstash } from "../../dev/qstash/start.js";

const url = "https://example.com/work";

/** A stand-in whose destination holds every delivery until the test lets one go. */
async function setup(options: QstashOptions = {}) {
  const held: (() => void)[] = [];
  let mostAtOnce = 0;
  const qstash = await startQstash({
    mode: "manual",
    startAt: 1_800_000_000_000,
    deliver: () => {
      const { promise, resolve } = Promise.withResolvers<Response>();
      held.push(() => resolve(new Response()));
      mostAtOnce = Math.max(mostAtOnce, held.length);
      return promise;
    },
    ...options,
  });
  onTestFinished(() => qstash.close());
  const client = new Client({ baseUrl: qstash.url, token: qstash.token, devMode: false });
  /** Delivers what is due, letting go of the oldest delivery whenever no other can start. */
  const work = async () => {
    const delivering = qstash.deliverDue();
    let isDone = false;
    void delivering.finally(() => {
      isDone = true;
    });
    while (!isDone) {
      held.shift()?.();
      await new Promise(setImmediate);
    }
    return delivering;
  };
  return { qstash, client, work, held, mostAtOnce: () => mostAtOnce };
}

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
});

describe("parallelism", () => {
  test("never more than n deliveries of a key at once, and each of them comes", async () => {
    const { client, work, mostAtOnce } = await setup();
    const item = () => ({ url, flowControl: { key: "k", parallelism: 3 } });
    await client.batch(Array.from({ length: 10 }, item));
    expect(await work()).toHaveLength(10);
    expect(mostAtOnce()).toBe(3);
  });

  test("keys do not hold up each other or messages without a key", async () => {
    const { qstash, client, held } = await setup();
    await client.batch([
      { url, flowControl: { key: "a", parallelism: 1 } },
      { url, flowControl: { key: "a", parallelism: 1 } },
      { url, flowControl: { key: "b", parallelism: 1 } },
      { url },
    ]);
    const delivering = qstash.deliverDue();
    await expect.poll(() => held.length).toBe(3);
    expect(await client.flowControl.get("a")).toMatchObject({
      parallelismMax: 1,
      parallelismCount: 1,
      waitListSize: 1,
    });
    expect(await client.flowControl.getGlobalParallelism()).toEqual({
      parallelismMax: 100,
      parallelismCount: 3,
    });
    for (const release of held.splice(0)) release();
    await expect.poll(() => held.length).toBe(1);
    held[0]?.();
    expect(await delivering).toHaveLength(4);
  });

  test("the plan's global parallelism holds for everything together", async () => {
    const { client, work, mostAtOnce } = await setup({ quota: "free" });
    await client.batch(Array.from({ length: 25 }, () => ({ url })));
    expect(await work()).toHaveLength(25);
    expect(mostAtOnce()).toBe(10);
  });

  test("a message that waits for its retry holds no slot", async () => {
    const { qstash, client } = await setup({
      deliver: async (request) => new Response("", { status: Number(await request.text()) }),
    });
    const flowControl = { key: "k", parallelism: 1 };
    await client.publish({ url, body: "500", flowControl });
    await client.publish({ url, body: "200", flowControl });
    const results = await qstash.deliverDue();
    expect(results.map(({ outcome }) => outcome)).toEqual(["retry", "delivered"]);
  });
});

describe("rate", () => {
  const instant: QstashOptions = { deliver: () => new Response() };

  test("at most n starts in a period; the rest follow when it is over", async () => {
    const { qstash, client } = await setup(instant);
    const item = () => ({ url, flowControl: { key: "k", rate: 2, period: "1m" as const } });
    await client.batch(Array.from({ length: 5 }, item));
    expect(await qstash.deliverDue()).toHaveLength(2);
    expect(await client.flowControl.get("k")).toMatchObject({
      rateMax: 2,
      rateCount: 2,
      ratePeriod: 60,
      ratePeriodStart: 1_800_000_000,
      waitListSize: 3,
    });
    qstash.advance("59s");
    expect(await qstash.deliverDue()).toHaveLength(0);
    qstash.advance("1s");
    expect(await qstash.deliverDue()).toHaveLength(2);
    const { deliveries, advancedMs } = await qstash.runUntilIdle();
    expect([deliveries.length, advancedMs]).toEqual([1, 60_000]);
  });

  test("resetRate ends the period at once", async () => {
    const { qstash, client } = await setup(instant);
    await client.batch(
      [1, 2].map(() => ({ url, flowControl: { key: "k", rate: 1, period: 3600 } })),
    );
    await qstash.deliverDue();
    await client.flowControl.resetRate("k");
    expect(await client.flowControl.get("k")).toMatchObject({ rateCount: 0 });
    expect(await qstash.deliverDue()).toHaveLength(1);
  });

  test("a period beyond a week and a malformed value are refused", async () => {
    const { client } = await setup(instant);
    for (const value of ["rate=1, period=8d", "rate=0", "rate=x", "speed=1", "period=1m"]) {
      const headers = { "Upstash-Flow-Control-Key": "k", "Upstash-Flow-Control-Value": value };
      await expect(client.publish({ url, headers }), value).rejects.toMatchObject({ status: 400 });
    }
  });
});

describe("control of a key", () => {
  const instant: QstashOptions = { deliver: () => new Response() };

  test("pause holds its messages, also new ones, until resume", async () => {
    const { qstash, client } = await setup(instant);
    const flowControl = { key: "k", parallelism: 5 };
    await client.publish({ url, flowControl });
    await client.flowControl.pause("k");
    await client.publish({ url, flowControl });
    expect(await qstash.runUntilIdle()).toMatchObject({ deliveries: [], isIdle: false });
    expect(await client.flowControl.get("k")).toMatchObject({ isPaused: true, waitListSize: 2 });
    await client.flowControl.resume("k");
    expect(await qstash.deliverDue()).toHaveLength(2);
  });

  test("pinned limits win over those of new messages, until they are unpinned", async () => {
    const { client } = await setup(instant);
    await client.publish({ url, flowControl: { key: "k", parallelism: 1, rate: 1 } });
    await client.flowControl.pin("k", { parallelism: 7, rate: 9, period: 30 });
    await client.publish({ url, flowControl: { key: "k", parallelism: 2, rate: 2 } });
    const pinned = {
      parallelismMax: 7,
      rateMax: 9,
      ratePeriod: 30,
      isPinnedParallelism: true,
      isPinnedRate: true,
    };
    expect(await client.flowControl.get("k")).toMatchObject(pinned);
    await client.flowControl.unpin("k", { parallelism: true });
    expect(await client.flowControl.get("k")).toMatchObject({
      ...pinned,
      isPinnedParallelism: false,
    });
    await client.publish({ url, flowControl: { key: "k", parallelism: 3 } });
    expect(await client.flowControl.get("k")).toMatchObject({ parallelismMax: 3, rateMax: 9 });
  });

  test("keys with spaces and slashes work; an unknown one is a 404; a search lists", async () => {
    const { qstash, client } = await setup(instant);
    await client.publish({ url, flowControl: { key: "a b/c", parallelism: 1 } });
    expect(await client.flowControl.get("a b/c")).toMatchObject({ flowControlKey: "a b/c" });
    await client.flowControl.pause("a b/c");
    expect(await client.flowControl.get("a b/c")).toMatchObject({ isPaused: true });
    await expect(client.flowControl.get("none")).rejects.toMatchObject({ status: 404 });
    const response = await fetch(`${qstash.url}/v2/flowControl?search=b/`, {
      headers: { Authorization: `Bearer ${qstash.token}` },
    });
    expect(await response.json()).toMatchObject([{ flowControlKey: "a b/c" }]);
  });
});
