import { Client, QstashError } from "@upstash/qstash";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type QstashOptions, startQstash } from "../../dev/qstash/start.js";

async function setup(options: QstashOptions = {}) {
  const qstash = await startQstash({ mode: "manual", deliver: () => new Response(), ...options });
  onTestFinished(() => qstash.close());
  const client = new Client({ baseUrl: qstash.url, token: qstash.token, devMode: false });
  return { qstash, client };
}

/** The status and text of the error that a call fails with. */
async function refusal(call: Promise<unknown>): Promise<[number | undefined, string]> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof QstashError)) throw new Error(`expected a QstashError, got ${error}`);
  return [error.status, error.message];
}

const url = "https://example.com/api/process";

// The client logs every refusal; here they are wanted.
beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  vi.spyOn(console, "warn").mockImplementation(() => {});
});

describe("publishing", () => {
  test("publish stores body, content type, method and forwarded headers", async () => {
    const { qstash, client } = await setup();
    const { messageId } = await client.publish({
      url: `${url}?x=1&y=a%20b`,
      body: "hello",
      method: "PUT",
      headers: { "Content-Type": "text/csv", "x-trace": "abc" },
      label: ["first", "second"],
    });
    expect(messageId).toMatch(/^msg_[A-Za-z0-9]+$/);
    expect(qstash.pending()).toMatchObject([
      {
        messageId,
        url: `${url}?x=1&y=a%20b`,
        method: "PUT",
        body: "hello",
        headers: { "Content-Type": "text/csv", "X-Trace": "abc" },
        labels: ["first", "second"],
        isDue: true,
      },
    ]);
  });

  test("publishJSON sends the JSON text", async () => {
    const { qstash, client } = await setup();
    await client.publishJSON({ url, body: { n: 1 } });
    const [message] = qstash.pending();
    expect(message?.body).toBe('{"n":1}');
    expect(message?.headers).toEqual({ "Content-Type": "application/json" });
  });

  test("a delay and a not-before set the due time; not-before wins", async () => {
    const { qstash, client } = await setup({ startAt: 1_800_000_000_000 });
    await client.publishJSON({ url, body: "delay", delay: 90 });
    await client.publishJSON({ url, body: "duration", delay: "1d" });
    await client.publishJSON({ url, body: "both", delay: 5, notBefore: 1_800_000_060 });
    await client.publishJSON({ url, body: "past", notBefore: 1_700_000_000 });
    const dueIn = qstash
      .pending()
      .map(({ body, dueAt }) => [JSON.parse(body), dueAt - qstash.now()]);
    expect(Object.fromEntries(dueIn)).toEqual({
      past: 0,
      both: 60_000,
      delay: 90_000,
      duration: 86_400_000,
    });
  });

  test("batch and batchJSON keep order, headers and queue of every item", async () => {
    const { qstash, client } = await setup();
    const published = await client.batchJSON([
      { url, body: { n: 1 }, headers: { "x-n": "1" } },
      { url: `${url}/2`, body: { n: 2 }, queueName: "orders", delay: 60 },
    ]);
    await client.batch([{ url, body: "plain", headers: { "content-type": "text/plain" } }]);
    expect(published).toHaveLength(2);
    const pending = qstash.pending();
    expect(pending.map(({ body }) => body)).toEqual(['{"n":1}', '{"n":2}', "plain"]);
    expect(pending[0]?.headers).toMatchObject({ "X-N": "1" });
    // A queue knows no delay.
    expect(pending[1]).toMatchObject({ queueName: "orders", isDue: true });
    expect(qstash.counts()).toMatchObject({ publishRequests: 2, batchRequests: 2, messages: 3 });
  });

  test("telemetry and authorization never reach the destination", async () => {
    const seen: Headers[] = [];
    const { qstash, client } = await setup({
      deliver: (request) => {
        seen.push(request.headers);
        return new Response();
      },
    });
    await client.publishJSON({ url, body: 1, headers: { "Upstash-Header-Forward": "true" } });
    await qstash.deliverDue();
    expect(seen[0]?.has("upstash-signature")).toBe(true);
    const names = [...(seen[0]?.keys() ?? [])];
    expect(names.filter((name) => /telemetry|authorization/.test(name))).toEqual([]);
  });
});

describe("destinations", () => {
  async function publishRaw(target: string, headers: Record<string, string> = {}) {
    const { qstash } = await setup();
    const response = await fetch(`${qstash.url}/v2/publish/${target}`, {
      method: "POST",
      headers: { Authorization: `Bearer ${qstash.token}`, ...headers },
    });
    return { response, pending: qstash.pending() };
  }

  test.each([
    ["https://example.com/a?x=1&y=a%20b", "https://example.com/a?x=1&y=a%20b"],
    ["https://example.com", "https://example.com"],
    ["http:/example.com/a", "http://example.com/a"],
    ["https%3A%2F%2Fexample.com%2Fa%3Fb%3D1", "https://example.com/a?b=1"],
    ["https://example.com/a//b?next=http://other/", "https://example.com/a//b?next=http://other/"],
  ])("%s is taken from the raw target", async (target, destination) => {
    const { pending } = await publishRaw(target);
    expect(pending.map(({ url }) => url)).toEqual([destination]);
  });

  test("configuration in the query is used and does not stay in the destination", async () => {
    const { pending } = await publishRaw(
      "https://example.com/a?upstash-delay=100s&x=1&upstash-label=l",
    );
    expect(pending).toMatchObject([
      { url: "https://example.com/a?x=1", labels: ["l"], isDue: false },
    ]);
  });

  test("what is no http(s) url and no url group is refused with the service's words", async () => {
    const { client } = await setup();
    const text = "invalid destination url: endpoint has invalid scheme, add http:// or https://";
    for (const destination of ["example.com/a", "ftp://example.com", "no-such-group"]) {
      expect(await refusal(client.publish({ url: destination }))).toEqual([
        400,
        JSON.stringify({ error: text }),
      ]);
    }
  });

  test("strict checks refuse loopback and unknown hosts only when asked for", async () => {
    const { client } = await setup({ strict: { refuseLoopback: true, resolveHosts: true } });
    expect(await refusal(client.publish({ url: "http://127.0.0.1:3000/a" }))).toEqual([
      400,
      '{"error":"invalid destination url: endpoint resolves to a loopback address: 127.0.0.1"}',
    ]);
    const [status, text] = await refusal(client.publish({ url: "http://nowhere.invalid/" }));
    expect(status).toBe(400);
    expect(text).toContain("unable to resolve host: lookup nowhere.invalid");
  });
});

describe("deduplication", () => {
  test("a repeat within ten minutes is answered 202 with the old id and enqueues nothing", async () => {
    const { qstash, client } = await setup();
    const first = await client.publishJSON({ url, body: 1, deduplicationId: "job_1_0" });
    await qstash.deliverDue();
    qstash.advance("9m59s");
    const second = await client.publishJSON({ url, body: 1, deduplicationId: "job_1_0" });
    expect(second).toEqual({ messageId: first.messageId, deduplicated: true });
    expect(qstash.pending()).toEqual([]);

    const raw = await fetch(`${qstash.url}/v2/publish/${url}`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${qstash.token}`,
        "Upstash-Deduplication-Id": "job_1_0",
      },
    });
    expect(raw.status).toBe(202);

    qstash.advance("1s");
    const third = await client.publishJSON({ url, body: 1, deduplicationId: "job_1_0" });
    expect(third).not.toHaveProperty("deduplicated");
    expect(qstash.counts()).toMatchObject({ messages: 2, deduplicated: 2 });
  });

  test("a colon in the id is refused with the service's words", async () => {
    const { client } = await setup();
    expect(await refusal(client.publishJSON({ url, body: 1, deduplicationId: "job:1" }))).toEqual([
      400,
      `{"error":"DeduplicationId cannot contain ':'"}`,
    ]);
  });

  test("by content: equal body, headers and destination are one message, a changed header is another", async () => {
    const { qstash, client } = await setup();
    const send = (value: string) =>
      client.publishJSON({
        url,
        body: { n: 1 },
        headers: { "x-value": value },
        contentBasedDeduplication: true,
      });
    await send("a");
    expect(await send("a")).toHaveProperty("deduplicated", true);
    expect(await send("b")).not.toHaveProperty("deduplicated");
    expect(qstash.pending()).toHaveLength(2);
  });

  test("within one batch the second use of an id is the first one's message", async () => {
    const { client } = await setup();
    const [first, second] = await client.batchJSON([
      { url, body: 1, deduplicationId: "same" },
      { url, body: 2, deduplicationId: "same" },
    ]);
    expect(second).toEqual({ ...first, deduplicated: true });
  });
});

describe("quotas", () => {
  test("the free plan's delay, retries and message size are refused with the service's words", async () => {
    const { client } = await setup({ quota: "free" });
    expect(await refusal(client.publishJSON({ url, body: 1, delay: 8 * 86_400 }))).toEqual([
      400,
      '{"error":"quota maxDelay exceeded, current limit: 604800"}',
    ]);
    const inEightDays = Math.ceil(Date.now() / 1000) + 8 * 86_400;
    expect(
      (await refusal(client.publishJSON({ url, body: 1, notBefore: inEightDays })))[1],
    ).toContain("quota maxDelay exceeded");
    expect(await refusal(client.publishJSON({ url, body: 1, retries: 6 }))).toEqual([
      400,
      '{"error":"quota maxRetries exceeded"}',
    ]);
    const [, text] = await refusal(client.publish({ url, body: "x".repeat(1024 * 1024 + 1) }));
    expect(text).toBe('{"error":"quota maxMessageSize exceeded"}');
  });

  test("one item over a limit refuses the whole batch", async () => {
    const { qstash, client } = await setup({ quota: "free" });
    const [status] = await refusal(
      client.batchJSON([
        { url, body: 1 },
        { url, body: 2, delay: 8 * 86_400 },
      ]),
    );
    expect(status).toBe(400);
    expect(qstash.pending()).toEqual([]);
  });

  test("the 1,001st message of a day is a daily rate limit to the client; the next day is open", async () => {
    const { qstash, client } = await setup({ quota: "free" });
    const items = () => Array.from({ length: 500 }, () => ({ url, body: "x" }));
    await client.batch(items());
    await client.batch(items());
    await expect(client.publish({ url })).rejects.toMatchObject({
      name: "QstashDailyRatelimitError",
      limit: "1000",
      remaining: "0",
    });
    qstash.advance("1d");
    await client.publish({ url });
  });

  test("paid plans allow a year, larger messages and, on pro, twenty retries", async () => {
    const payg = await setup({ quota: "payg" });
    await payg.client.publish({ url, body: "x".repeat(2 * 1024 * 1024), delay: 364 * 86_400 });
    expect((await refusal(payg.client.publish({ url, delay: 366 * 86_400 })))[1]).toContain(
      "31536000",
    );
    const pro = await setup({ quota: "pro" });
    await pro.client.publish({ url, retries: 20, delay: 800 * 86_400 });
  });
});
