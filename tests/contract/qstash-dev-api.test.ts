import { Client } from "@upstash/qstash";
import { expect, onTestFinished, test } from "vitest";
import { startQstash } from "../../dev/qstash/start.js";

const url = "https://example.com/process";

async function setup() {
  const received: string[] = [];
  const qstash = await startQstash({
    mode: "manual",
    deliver: async (request) => {
      received.push(await request.text());
      return new Response("done");
    },
  });
  onTestFinished(() => qstash.close());
  const client = new Client({ baseUrl: qstash.url, token: qstash.token, devMode: false });
  const state = async () => (await fetch(`${qstash.url}/__dev/state`)).json();
  const post = async (control: string, body?: unknown) => {
    const response = await fetch(`${qstash.url}/__dev/${control}`, {
      method: "POST",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    return { status: response.status, body: await response.json() };
  };
  return { qstash, client, received, state, post };
}

test("state shows the clock, what waits, the counts, the faults and the keys", async () => {
  const { qstash, client, state } = await setup();
  const { messageId } = await client.publish({ url, body: "x", delay: 60 });
  expect(await state()).toMatchObject({
    now: qstash.now(),
    pending: [{ messageId, body: "x", isDue: false }],
    counts: { messages: 1 },
    faults: { duplicateRate: 0, signWith: "current" },
    keys: qstash.keys(),
  });
});

test("the clock and deliveries are driven over HTTP", async () => {
  const { qstash, client, received, post } = await setup();
  const first = await client.publish({ url, body: "1", delay: 60 });
  const second = await client.publish({ url, body: "2", delay: 3600 });
  const before = qstash.now();
  expect(await post("advance", { by: "1m" })).toEqual({ status: 200, body: {} });
  expect(qstash.now() - before).toBe(60_000);
  expect((await post("deliver-due")).body).toMatchObject([{ messageId: first.messageId }]);
  const { body } = await post("deliver", { ...second, early: true, twice: true });
  expect(body).toMatchObject([{ status: 200 }, { status: 200 }]);
  await client.publish({ url, body: "3", delay: 10 });
  expect((await post("run-until-idle")).body).toMatchObject({ advancedMs: 10_000, isIdle: true });
  expect(received).toEqual(["1", "2", "2", "3"]);
});

test("every fault is set over HTTP", async () => {
  const { qstash, client, post, state } = await setup();
  const first = await client.publish({ url });
  const second = await client.publish({ url });
  const order = [second.messageId, first.messageId];
  await post("reorder", { messageIds: order });
  expect(qstash.pending().map(({ messageId }) => messageId)).toEqual(order);
  await post("duplicate", { ...first, copies: 2 });
  expect(qstash.pending()).toHaveLength(4);
  await post("drop", second);
  expect(qstash.pending()).toHaveLength(3);
  await post("lose-answer", { which: "next" });
  expect(await qstash.deliverNext()).toMatchObject({ answerLost: true });
  await post("faults", { duplicateRate: 0.5, earlySeconds: 2 });
  await post("signing", { signWith: "next", clockOffsetSeconds: -600 });
  expect(await state()).toMatchObject({
    faults: { duplicateRate: 0.5, earlySeconds: 2, signWith: "next", clockOffsetSeconds: -600 },
  });
  const before = qstash.keys();
  expect((await post("rotate-keys")).body).toMatchObject({ current: before.next });
  await post("publishes", { fault: { status: 503 }, times: 1 });
  const refused = await fetch(`${qstash.url}/v2/publish/${url}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${qstash.token}` },
  });
  expect(refused.status).toBe(503);
  await post("publishes", { fault: "cut" });
  await post("publishes", { fault: null });
  await client.publish({ url });
});

test("a control that cannot be applied says why", async () => {
  const { client, post } = await setup();
  const { messageId } = await client.publish({ url, delay: 60 });
  expect(await post("deliver", { messageId })).toMatchObject({
    status: 409,
    body: { error: expect.stringContaining("is not due") },
  });
  expect(await post("drop", { messageId: "msg_unknown" })).toMatchObject({ status: 409 });
  expect(await post("signing", { signWith: "previous" })).toMatchObject({ status: 409 });
  expect(await post("advance", { by: "soon" })).toMatchObject({ status: 409 });
  expect(await post("faults", { dropRate: 2 })).toMatchObject({ status: 400 });
  expect(await post("faults", { droprate: 1 })).toMatchObject({ status: 400 });
  expect(await post("nonsense")).toMatchObject({ status: 404 });
});
