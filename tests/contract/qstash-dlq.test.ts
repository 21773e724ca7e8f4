import { Client } from "@upstash/qstash";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type QstashOptions, startQstash } from "../../dev/qstash/start.js";

const url = "https://example.com/a";

/** A stand-in with this many dead letters: bodies "0", "1", …, the status as the body says. */
async function setup(count: number, options: QstashOptions = {}) {
  const statuses: number[] = [];
  const qstash = await startQstash({
    mode: "manual",
    deliver: async (request) => {
      const number = Number(await request.text());
      const status = statuses.shift() ?? 500 + (number % 2);
      return new Response(`answer ${number}`, { status, headers: { "x-number": `${number}` } });
    },
    ...options,
  });
  onTestFinished(() => qstash.close());
  const client = new Client({ baseUrl: qstash.url, token: qstash.token, devMode: false });
  for (let sent = 0; sent < count; sent += 1) {
    await client.publish({
      url: `${url}/${sent}`,
      body: String(sent),
      retries: 0,
      label: sent % 2 === 0 ? "even" : "odd",
    });
  }
  await qstash.deliverDue();
  const request = async (method: string, path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${qstash.url}${path}`, {
      method,
      headers: { Authorization: `Bearer ${qstash.token}`, ...headers },
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
  };
  return { qstash, client, request, statuses };
}

beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
});

describe("listing", () => {
  test("shows the message with its id and the last answer, newest first", async () => {
    const { client, request } = await setup(2);
    const { messages, cursor } = await client.dlq.listMessages();
    expect(cursor).toBeUndefined();
    expect(messages).toMatchObject([
      { body: "1", responseStatus: 501 },
      {
        dlqId: expect.stringMatching(/^\d{13}-\d+$/),
        messageId: expect.stringMatching(/^msg_/),
        url: `${url}/0`,
        body: "0",
        maxRetries: 0,
        responseStatus: 500,
        responseBody: "answer 0",
        responseHeader: { "X-Number": ["0"] },
      },
    ]);
    const one = await request("GET", `/v2/dlq/${messages[1]?.dlqId}`);
    expect(one.body).toMatchObject({ body: "0" });
    expect((await request("GET", "/v2/dlq/1-1")).status).toBe(404);
    expect((await request("GET", "/v2/dlq")).body).not.toHaveProperty("cursor");
  });

  test.each([
    [{ url: `${url}/0` }, 1],
    [{ url: [`${url}/0`, `${url}/1`] }, 2],
    [{ label: "even" }, 2],
    [{ responseStatus: 501 }, 1],
    [{ responseStatus: [500, 501], label: "odd" }, 1],
    [{ callerIp: "127.0.0.1" }, 3],
    [{ toDate: 1 }, 0],
  ])("%j finds %i", async (filter, count) => {
    const { client } = await setup(3);
    expect((await client.dlq.listMessages({ filter })).messages).toHaveLength(count);
  });

  test("an unknown filter key is an error, not an empty filter; so are host and path", async () => {
    const { request } = await setup(1);
    for (const key of ["labeel", "host", "path"]) {
      for (const [method, path] of [
        ["GET", "/v2/dlq"],
        ["DELETE", "/v2/dlq"],
        ["POST", "/v2/dlq/retry"],
      ] as const) {
        const { status, body } = await request(method, `${path}?${key}=x`);
        expect(status).toBe(400);
        expect(body).toEqual({ error: `unknown filter: ${key}` });
      }
    }
  });

  test("pages by a cursor that is absent on the last page", async () => {
    const { client } = await setup(5);
    const bodies: (string | undefined)[] = [];
    let cursor: string | undefined;
    do {
      const page = await client.dlq.listMessages({ count: 2, cursor });
      bodies.push(...page.messages.map(({ body }) => body));
      cursor = page.cursor;
    } while (cursor);
    expect(bodies).toEqual(["4", "3", "2", "1", "0"]);
  });
});

describe("deleting", () => {
  test("one by id; a second time is a 404", async () => {
    const { client } = await setup(1);
    const dlqId = (await client.dlq.listMessages()).messages[0]?.dlqId ?? "";
    expect(await client.dlq.delete(dlqId)).toEqual({ deleted: 1 });
    await expect(client.dlq.delete(dlqId)).rejects.toMatchObject({ status: 404 });
  });

  test("several by ids, by filter, and all in steps", async () => {
    const { client } = await setup(6);
    const { messages } = await client.dlq.listMessages();
    const ids = messages.slice(0, 2).map(({ dlqId }) => dlqId);
    expect(await client.dlq.deleteMany({ dlqIds: ids })).toEqual({ deleted: 2 });
    expect(await client.dlq.delete({ filter: { label: "odd" } })).toEqual({ deleted: 2 });
    const step = await client.dlq.delete({ all: true, count: 1 });
    expect(step).toEqual({ deleted: 1, cursor: expect.any(String) });
    expect(await client.dlq.delete({ all: true, cursor: step.cursor })).toEqual({ deleted: 1 });
  });
});

describe("retrying", () => {
  test("sends the message again under a new id and takes it off the list", async () => {
    const { qstash, client, statuses } = await setup(1);
    const [letter] = (await client.dlq.listMessages()).messages;
    const { responses, cursor } = await client.dlq.retry(letter?.dlqId ?? "");
    expect(cursor).toBeUndefined();
    expect(responses).toEqual([{ messageId: expect.stringMatching(/^msg_/) }]);
    expect(responses[0]?.messageId).not.toBe(letter?.messageId);
    expect((await client.dlq.listMessages()).messages).toEqual([]);
    statuses.push(200);
    expect(await qstash.deliverDue()).toMatchObject([{ outcome: "delivered", retried: 0 }]);
  });

  test("by ids, by filter and in steps", async () => {
    const { qstash, client } = await setup(5);
    const { messages } = await client.dlq.listMessages();
    const ids = messages.slice(0, 2).map(({ dlqId }) => dlqId);
    expect((await client.dlq.retry({ dlqIds: ids })).responses).toHaveLength(2);
    expect((await client.dlq.retry({ filter: { label: "odd" } })).responses).toHaveLength(1);
    const step = await client.dlq.retry({ all: true, count: 1 });
    expect(step.cursor).toEqual(expect.any(String));
    expect((await client.dlq.retry({ all: true, cursor: step.cursor })).responses).toHaveLength(1);
    expect(qstash.pending().map(({ body }) => body)).toEqual(["4", "3", "1", "2", "0"]);
  });

  test("answers 201, and its headers override the message's own", async () => {
    const { qstash, client, request } = await setup(1);
    const [letter] = (await client.dlq.listMessages()).messages;
    const { status, body } = await request("POST", `/v2/dlq/retry/${letter?.dlqId}`, {
      "Upstash-Retries": "2",
      "Upstash-Label": "second try",
    });
    expect(status).toBe(201);
    expect(await client.messages.get(body.messageId)).toMatchObject({
      body: "0",
      maxRetries: 2,
      labels: ["second try"],
    });
    expect(qstash.pending()).toMatchObject([{ isDue: true }]);
    expect((await request("POST", `/v2/dlq/retry/${letter?.dlqId}`)).status).toBe(404);
  });
});

test("dead letters past the plan's retention are gone", async () => {
  const { qstash, client, request } = await setup(1, { quota: "free" });
  const [letter] = (await client.dlq.listMessages()).messages;
  qstash.advance("72h1s");
  expect((await client.dlq.listMessages()).messages).toEqual([]);
  expect((await request("GET", `/v2/dlq/${letter?.dlqId}`)).status).toBe(404);
});

test("a message without an answer shows the reason and no status", async () => {
  const { qstash, client } = await setup(0, {
    deliver: () => Promise.reject(new Error("no route")),
  });
  await client.publish({ url, retries: 0 });
  await qstash.deliverDue();
  const [letter] = (await client.dlq.listMessages()).messages;
  expect(letter).toMatchObject({ responseBody: "no route" });
  expect(letter).not.toHaveProperty("responseStatus");
});
