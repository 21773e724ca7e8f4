import { Client } from "@upstash/qstash";
import { describe, expect, onTestFinished, test } from "vitest";
import { type QstashOptions, startQstash } from "../../dev/qstash/start.js";

const url = "https://example.com/process";

/** A stand-in that notes the bodies its destination receives. */
async function setup(options: QstashOptions = {}) {
  const received: string[] = [];
  const qstash = await startQstash({
    mode: "manual",
    deliver: async (request) => {
      received.push(await request.text());
      return new Response();
    },
    ...options,
  });
  onTestFinished(() => qstash.close());
  const client = new Client({ baseUrl: qstash.url, token: qstash.token, devMode: false });
  return { qstash, client, received };
}

describe("driving the clock", () => {
  test("advance moves the clock and delivers nothing by itself", async () => {
    const { qstash, client, received } = await setup({ startAt: 1_800_000_000_000 });
    await client.publish({ url, delay: "10m" });
    qstash.advance("9m59s");
    qstash.advance(1_000);
    expect(qstash.now()).toBe(1_800_000_600_000);
    expect(qstash.pending()).toMatchObject([{ isDue: true }]);
    expect(received).toEqual([]);
    expect(() => qstash.advance("soon")).toThrow("no duration");
    expect(() => qstash.advance(-1)).toThrow("no duration");
  });

  test("deliverDue also delivers what becomes due at the same instant", async () => {
    let left = 3;
    const { qstash, client } = await setup({
      deliver: async () => {
        left -= 1;
        if (left > 0) await client.publish({ url });
        return new Response();
      },
    });
    await client.publish({ url });
    expect(await qstash.deliverDue()).toHaveLength(3);
  });

  test("deliverDue stops a message loop that never ends", async () => {
    const { qstash, client } = await setup({
      deliver: async () => {
        await client.publish({ url });
        return new Response();
      },
    });
    await client.publish({ url });
    await expect(qstash.deliverDue({ maxDeliveries: 20 })).rejects.toThrow("Still busy after 20");
  });

  test("runUntilIdle tells every step before the deliveries of that instant", async () => {
    const { qstash, client, received } = await setup();
    await client.publish({ url, body: "1", delay: 10 });
    await client.publish({ url, body: "2", delay: 25 });
    const steps: string[] = [];
    const report = await qstash.runUntilIdle({
      onAdvance: async (ms) => {
        await new Promise(setImmediate);
        steps.push(`${ms} ms, ${received.length} received`);
      },
    });
    expect(steps).toEqual(["10000 ms, 0 received", "15000 ms, 1 received"]);
    expect(report).toMatchObject({ advancedMs: 25_000, isIdle: true });
  });

  test("runUntilIdle leaves what lies beyond its bound", async () => {
    const { qstash, client } = await setup();
    await client.publish({ url, delay: "1h" });
    const report = await qstash.runUntilIdle({ maxMs: 60_000 });
    expect(report).toEqual({ deliveries: [], advancedMs: 0, isIdle: false });
    expect(qstash.pending()).toHaveLength(1);
  });
});
