import { Client } from "@upstash/qstash";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { type QstashOptions, startQstash } from "../../dev/qstash/start.js";

const a = "https://a.example.com/hook";
const b = "https://b.example.com/hook";

async function setup(options: QstashOptions = {}) {
  const received: { url: string; headers: Headers }[] = [];
  const qstash = await startQstash({
    mode: "manual",
    deliver: (request) => {
      received.push({ url: request.url, headers: request.headers });
      return new Response();
    },
    ...options,
  });
  onTestFinished(() => qstash.close());
  const client = new Client({ baseUrl: qstash.url, token: qstash.token, devMode: false });
  return { qstash, client, received };
}

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
});

test("endpoints are added, replaced by url or name, removed; the last removal ends the group", async () => {
  const { client } = await setup();
  const groups = client.urlGroups;
  await groups.addEndpoints({ name: "hooks", endpoints: [{ url: a, name: "first" }, { url: b }] });
  expect(await groups.get("hooks")).toEqual({
    name: "hooks",
    createdAt: expect.any(Number),
    updatedAt: expect.any(Number),
    endpoints: [{ url: a, name: "first" }, { url: b }],
  });
  await groups.addEndpoints({ name: "hooks", endpoints: [{ url: `${a}/2`, name: "first" }] });
  await groups.addEndpoints({ name: "hooks", endpoints: [{ url: b, name: "second" }] });
  expect((await groups.list())[0]?.endpoints).toEqual([
    { url: `${a}/2`, name: "first" },
    { url: b, name: "second" },
  ]);
  await groups.removeEndpoints({ name: "hooks", endpoints: [{ name: "first" }] });
  await groups.removeEndpoints({ name: "hooks", endpoints: [{ url: b }] });
  await expect(groups.get("hooks")).rejects.toMatchObject({ status: 404 });
});

test("deleting a group works, also when there is none", async () => {
  const { client } = await setup();
  await client.urlGroups.addEndpoints({ name: "hooks", endpoints: [{ url: a }] });
  await client.urlGroups.delete("hooks");
  await client.urlGroups.delete("hooks");
  expect(await client.urlGroups.list()).toEqual([]);
});

test("publishing to a group reaches every endpoint with a message of its own", async () => {
  const { qstash, client, received } = await setup();
  await client.urlGroups.addEndpoints({
    name: "hooks",
    endpoints: [{ url: a, name: "n" }, { url: b }],
  });
  const published = await client.publishJSON({ urlGroup: "hooks", body: 1 });
  expect(published).toEqual([
    { messageId: expect.stringMatching(/^msg_/), url: a },
    { messageId: expect.stringMatching(/^msg_/), url: b },
  ]);
  const message = await client.messages.get(published[0]?.messageId ?? "");
  expect(message).toMatchObject({ urlGroup: "hooks", topicName: "hooks", endpointName: "n" });
  await qstash.deliverDue();
  expect(received.map(({ url }) => url)).toEqual([a, b]);
  expect(received[0]?.headers.get("upstash-topic-name")).toBe("hooks");
  const { events } = await client.logs({ filter: { urlGroup: "hooks", state: "DELIVERED" } });
  expect(events).toMatchObject([{ urlGroup: "hooks" }, { urlGroup: "hooks" }]);
});

test("a batch answers a group with a nested array; a repeated id is known per endpoint", async () => {
  const { client } = await setup();
  await client.urlGroups.addEndpoints({ name: "hooks", endpoints: [{ url: a }, { url: b }] });
  const [first, second] = await client.batchJSON([
    { urlGroup: "hooks", body: 1, deduplicationId: "d" },
    { url: a, body: 2 },
  ]);
  expect(first).toHaveLength(2);
  expect(second).toEqual({ messageId: expect.any(String) });
  const again = await client.publishJSON({ urlGroup: "hooks", body: 1, deduplicationId: "d" });
  expect(again).toEqual((first as object[]).map((each) => ({ ...each, deduplicated: true })));
});

test("a group can be a queue's or a schedule's destination", async () => {
  const { qstash, client } = await setup();
  await client.urlGroups.addEndpoints({ name: "hooks", endpoints: [{ url: a }, { url: b }] });
  await client.queue({ queueName: "q" }).enqueueJSON({ urlGroup: "hooks", body: 1 });
  expect(qstash.pending()).toMatchObject([{ queueName: "q" }, { queueName: "q" }]);
  await client.schedules.create({ destination: "hooks", cron: "* * * * *" });
  qstash.advance("1m");
  expect(qstash.pending()).toHaveLength(4);
});

test("default headers of a group apply unless the message sets its own", async () => {
  const { qstash, client, received } = await setup();
  await client.urlGroups.addEndpoints({ name: "hooks", endpoints: [{ url: a }] });
  const response = await fetch(`${qstash.url}/v2/topics/hooks`, {
    method: "PATCH",
    headers: { Authorization: `Bearer ${qstash.token}` },
    body: JSON.stringify({
      headers: { "Upstash-Forward-X-From": "group", "Upstash-Retries": "1" },
    }),
  });
  expect(response.status).toBe(200);
  await client.publish({ urlGroup: "hooks" });
  await client.publish({ urlGroup: "hooks", headers: { "X-From": "message" } });
  await qstash.deliverDue();
  expect(received.map(({ headers }) => headers.get("x-from"))).toEqual(["group", "message"]);
});

test("bad names and urls are refused with 400, groups beyond the plan with 412", async () => {
  const { client } = await setup({ quota: "free" });
  const add = (name: string, urls: string[]) =>
    client.urlGroups.addEndpoints({ name, endpoints: urls.map((url) => ({ url })) });
  await expect(add("a%20b", [a])).rejects.toMatchObject({ status: 400 });
  await expect(add("hooks", ["example.com"])).rejects.toMatchObject({ status: 400 });
  await add("hooks", [a]);
  await expect(add("more", [a])).rejects.toMatchObject({ status: 412 });
  const many = Array.from({ length: 101 }, (_, index) => `${a}/${index}`);
  await expect(add("hooks", many)).rejects.toMatchObject({ status: 412 });
  await expect(
    client.urlGroups.removeEndpoints({ name: "none", endpoints: [{ url: a }] }),
  ).rejects.toMatchObject({ status: 404 });
});
