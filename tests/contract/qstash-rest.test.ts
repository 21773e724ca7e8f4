import { Client } from "@upstash/qstash";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type QstashOptions, startQstash } from "../../dev/qstash/start.js";

const url = "https://example.com/a";

async function setup(options: QstashOptions = {}) {
  const qstash = await startQstash({ mode: "manual", deliver: () => new Response(), ...options });
  onTestFinished(() => qstash.close());
  const request = async (method: string, path: string, init: RequestInit = {}) => {
    const headers = { Authorization: `Bearer ${qstash.token}`, ...init.headers };
    const response = await fetch(`${qstash.url}${path}`, { ...init, method, headers });
    const text = await response.text();
    return { status: response.status, text, body: text === "" ? undefined : JSON.parse(text) };
  };
  return { qstash, request };
}

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("authentication", () => {
  test("a token in the header or in the query; none or a wrong one is a 401 with a reason", async () => {
    const { qstash } = await setup();
    const status = async (path: string, headers: Record<string, string> = {}) => {
      const response = await fetch(`${qstash.url}${path}`, { headers });
      if (response.status === 401) {
        expect(await response.json()).toEqual({ error: expect.any(String) });
      }
      return response.status;
    };
    expect(await status("/v2/keys")).toBe(401);
    expect(await status("/v2/keys", { Authorization: "Bearer wrong" })).toBe(401);
    expect(await status("/v2/keys", { Authorization: `Bearer ${qstash.token}` })).toBe(200);
    const token = encodeURIComponent(qstash.token);
    expect(await status(`/v2/keys?qstash_token=${token}`)).toBe(200);
    const published = await fetch(`${qstash.url}/v2/publish/${url}?qstash_token=${token}&x=1`, {
      method: "POST",
    });
    expect(published.status).toBe(200);
    expect(qstash.pending()).toMatchObject([{ url: `${url}?x=1` }]);
  });

  test("each user has keys of their own and sees nothing of the others", async () => {
    const received: (string | null)[] = [];
    const { qstash } = await setup({
      deliver: (delivery) => {
        received.push(delivery.headers.get("upstash-signature"));
        return new Response("", { status: 500 });
      },
    });
    const users = qstash.users();
    expect(users).toHaveLength(4);
    expect(new Set(users.flatMap(({ keys }) => [keys.current, keys.next])).size).toBe(8);
    const [first, second] = users.map(
      ({ token }) => new Client({ baseUrl: qstash.url, token, devMode: false }),
    );
    if (!first || !second) throw new Error("users are missing");
    const { messageId } = await second.publish({ url, retries: 0, deduplicationId: "same" });
    const other = await first.publish({ url, retries: 0, deduplicationId: "same" });
    expect(other.messageId).not.toBe(messageId);
    vi.spyOn(console, "error").mockImplementation(() => {});
    await expect(first.messages.get(messageId)).rejects.toMatchObject({ status: 404 });
    await qstash.deliverDue();
    expect((await first.dlq.listMessages()).messages).toHaveLength(1);
    expect((await first.logs({ messageIds: [messageId] })).events).toEqual([]);
  });
});

test("the keys are shown and rotated: next becomes current", async () => {
  const { qstash, request } = await setup();
  const before = qstash.keys();
  expect(before).toEqual({
    current: "sig_7kYjw48mhY7kAjqNGcy6cr29RJ6r",
    next: "sig_5ZB6DVzB1wjE8S6rZ7eenA8Pdnhs",
  });
  expect((await request("GET", "/v2/keys")).body).toEqual(before);
  const rotated = (await request("POST", "/v2/keys/rotate")).body;
  expect(rotated).toEqual({ current: before.next, next: expect.stringMatching(/^sig_.{28}$/) });
  expect(qstash.keys()).toEqual(rotated);
});

describe("errors", () => {
  test.each([
    ["GET", "/v2/nothing", 404],
    ["PUT", "/v2/queues", 404],
    ["GET", "/v2/queues/none", 404],
    ["DELETE", "/v2/queues/none", 404],
    ["POST", "/v2/queues/none/pause", 404],
    ["GET", "/v2/topics/none", 404],
    ["GET", "/v2/schedules/none", 404],
    ["PATCH", "/v2/schedules/none/pause", 404],
    ["GET", "/v2/messages/none", 404],
    ["DELETE", "/v2/messages/none", 404],
    ["GET", "/v2/dlq/none", 404],
    ["DELETE", "/v2/dlq/none", 404],
    ["GET", "/v2/flowControl/none", 404],
    ["POST", `/v2/schedules/${url}`, 400],
    ["POST", "/v2/publish/nonsense", 400],
    ["GET", "/v2/messages/%E0%A4%A", 400],
  ])("%s %s is %i with a JSON reason", async (method, path, status) => {
    const { request } = await setup();
    const answer = await request(method, path);
    expect(answer.status).toBe(status);
    expect(answer.body).toEqual({ error: expect.any(String) });
  });

  test.each([
    ["no JSON", "{"],
    ["no list", '{"destination":"https://example.com"}'],
    ["no destination", "[{}]"],
    ["an impossible header", `[{"destination":"${url}","headers":{"a b":"c"}}]`],
    ["a bad queue name", `[{"destination":"${url}","queue":"a b"}]`],
  ])("a batch with %s is refused as a whole", async (_, body) => {
    const { qstash, request } = await setup();
    const answer = await request("POST", "/v2/batch", { body });
    expect(answer.status).toBe(400);
    expect(answer.body).toEqual({ error: expect.any(String) });
    expect(qstash.pending()).toEqual([]);
  });

  test.each([
    ["Upstash-Delay", "soon"],
    ["Upstash-Not-Before", "tomorrow"],
    ["Upstash-Retries", "-1"],
    ["Upstash-Timeout", "1 hour"],
    ["Upstash-Method", "BREW"],
    ["Upstash-Callback", "example.com"],
    ["Upstash-Redact-Fields", "everything"],
  ])("a malformed %s is named in a 400", async (name, value) => {
    const { request } = await setup();
    const { status, body } = await request("POST", `/v2/publish/${url}`, {
      headers: { [name]: value },
    });
    expect(status).toBe(400);
    expect(body.error.toLowerCase()).toContain(name.toLowerCase().split("-").at(-1));
  });
});

test("an ordinary publish is 200 with the id alone", async () => {
  const { request } = await setup();
  const answer = await request("POST", `/v2/publish/${url}`, { body: "x" });
  expect(answer.status).toBe(200);
  expect(answer.body).toEqual({ messageId: expect.stringMatching(/^msg_/) });
});

test("bodies are kept to the byte, whatever they are", async () => {
  const bytes = new Uint8Array([0, 255, 13, 10, 128]);
  const received: Uint8Array[] = [];
  const { qstash, request } = await setup({
    deliver: async (delivery) => {
      received.push(new Uint8Array(await delivery.arrayBuffer()));
      return new Response();
    },
  });
  await request("POST", `/v2/publish/${url}`, { body: bytes });
  await qstash.deliverDue();
  expect(received).toEqual([bytes]);
});
