import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { Client, Receiver } from "@upstash/qstash";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { close, listen } from "../../dev/listen.js";
import { type QstashOptions, startQstash } from "../../dev/qstash/start.js";

/** Starts a destination on a free port; ends with the test. */
async function destination(handle: RequestListener): Promise<string> {
  const server = createServer(handle);
  const port = await listen(server, { port: 0, service: "the destination" });
  onTestFinished(() => close(server));
  return `http://127.0.0.1:${port}`;
}

async function setup(options: QstashOptions = {}) {
  const qstash = await startQstash(options);
  onTestFinished(() => qstash.close());
  const client = new Client({ baseUrl: qstash.url, token: qstash.token, devMode: false });
  return { qstash, client };
}

/** Collects requests; `next` waits for the next one. */
function inbox() {
  type Received = { target?: string; headers: IncomingMessage["headers"]; body: string };
  const received: Received[] = [];
  const waiting: ((one: Received) => void)[] = [];
  let taken = 0;
  return {
    async take(incoming: IncomingMessage) {
      const one = { target: incoming.url, headers: incoming.headers, body: await text(incoming) };
      received.push(one);
      waiting.shift()?.(one);
    },
    next(): Promise<Received> {
      const one = received[taken];
      taken += 1;
      return one ? Promise.resolve(one) : new Promise((resolve) => waiting.push(resolve));
    },
  };
}

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("live mode", () => {
  test("delivers over HTTP by itself, signed for the real receiver, the target kept as it was", async () => {
    const { take, next } = inbox();
    const base = await destination(async (incoming, outgoing) => {
      await take(incoming);
      outgoing.end("ok");
    });
    const { qstash, client } = await setup();
    const url = `${base}/a//b?x=1&y=a%20b`;
    await client.publishJSON({ url, body: { n: 1 }, headers: { "x-a": "1" } });
    const { target, headers, body } = await next();
    expect(target).toBe("/a//b?x=1&y=a%20b");
    expect(headers).toMatchObject({ "x-a": "1", "user-agent": "Upstash-QStash" });
    const { current, next: nextKey } = qstash.keys();
    const receiver = new Receiver({
      currentSigningKey: current,
      nextSigningKey: nextKey,
      devMode: false,
    });
    const signature = String(headers["upstash-signature"]);
    expect(await receiver.verify({ signature, body, url })).toBe(true);
  });

  test("a faster clock brings delays, backoff and schedules sooner", async () => {
    const { take, next } = inbox();
    const base = await destination(async (incoming, outgoing) => {
      await take(incoming);
      outgoing.writeHead(incoming.headers["upstash-retried"] === "0" ? 500 : 200).end();
    });
    const { client } = await setup({ speed: 20_000 });
    await client.publish({ url: base, body: "1", delay: "1h" });
    expect(await next()).toMatchObject({ body: "1", headers: { "upstash-retried": "0" } });
    expect(await next()).toMatchObject({ body: "1", headers: { "upstash-retried": "1" } });
    const { scheduleId } = await client.schedules.create({
      destination: base,
      cron: "0 * * * *",
      body: "tick",
    });
    expect(await next()).toMatchObject({
      body: "tick",
      headers: { "upstash-schedule-id": scheduleId },
    });
  });

  test("advancing the clock delivers what became due at once", async () => {
    const { take, next } = inbox();
    const base = await destination(async (incoming, outgoing) => {
      await take(incoming);
      outgoing.end();
    });
    const { qstash, client } = await setup({ rewrite: { "https://example.com": base } });
    await client.publish({ url: "https://example.com/later", body: "x", delay: "7d" });
    qstash.advance("7d");
    expect(await next()).toMatchObject({ target: "/later", body: "x" });
  });

  test("a body that trickles is cut off at the timeout, which goes by real time", async () => {
    const { take, next } = inbox();
    const base = await destination(async (incoming, outgoing) => {
      await take(incoming);
      outgoing.writeHead(200).write("never ending");
    });
    const { client } = await setup({ speed: 1_000_000 });
    const { messageId } = await client.publish({
      url: base,
      headers: { "Upstash-Timeout": "100ms" },
      retries: 1,
    });
    await next();
    await next();
    const { events } = await client.logs({ messageIds: [messageId] });
    const failure = events.find(({ state }) => state === "ERROR");
    expect(failure).toMatchObject({ error: "delivery timed out" });
  });

  test("a destination that refuses connections is retried", async () => {
    const { client } = await setup({ speed: 1_000_000 });
    const unused = createServer();
    const port = await listen(unused, { port: 0, service: "a port" });
    await close(unused);
    await client.publish({ url: `http://127.0.0.1:${port}/`, retries: 1 });
    const letters = async () => (await client.dlq.listMessages()).messages;
    await expect
      .poll(letters)
      .toMatchObject([{ responseBody: expect.stringContaining("ECONNREFUSED") }]);
  });

  test("closing ends deliveries that are under way", async () => {
    const { take, next } = inbox();
    const base = await destination((incoming) => void take(incoming));
    const { qstash, client } = await setup();
    await client.publish({ url: base });
    await next();
    await qstash.close();
    await expect(fetch(qstash.url)).rejects.toThrow();
  });
});

describe("the client's development mode", () => {
  test("attaches to the stand-in by its port and accepts its signatures", async () => {
    const { take, next } = inbox();
    const base = await destination(async (incoming, outgoing) => {
      await take(incoming);
      outgoing.end();
    });
    vi.spyOn(console, "log").mockImplementation(() => {});
    const { qstash } = await setup();
    vi.stubEnv("QSTASH_DEV", "true");
    vi.stubEnv("QSTASH_DEV_PORT", String(qstash.port));
    await new Client().publishJSON({ url: base, body: 1 });
    const { headers, body } = await next();
    const signature = String(headers["upstash-signature"]);
    expect(await new Receiver().verify({ signature, body, url: base })).toBe(true);
  });
});

describe("the command line", () => {
  const main = fileURLToPath(new URL("../../dev/qstash/main.ts", import.meta.url));

  function run(...args: string[]) {
    const child = spawn(process.execPath, ["--import", "tsx", main, ...args]);
    onTestFinished(() => void child.kill("SIGKILL"));
    return child;
  }

  /** What a run that ends by itself prints, and its exit code. */
  async function finish(...args: string[]) {
    const child = run(...args);
    const [output, errors, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "exit"),
    ]);
    return { output, errors, code };
  }

  test("prints its address and credentials as environment lines and ends cleanly", async () => {
    const child = run("--port", "0", "--speed", "60");
    let printed = "";
    for await (const chunk of child.stdout) {
      printed += chunk;
      if (printed.includes("NEXT_SIGNING_KEY=")) break;
    }
    const lines = printed.trim().split("\n");
    const environment = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s)));
    expect(environment).toMatchObject({
      QSTASH_URL: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      QSTASH_CURRENT_SIGNING_KEY: "sig_7kYjw48mhY7kAjqNGcy6cr29RJ6r",
      QSTASH_NEXT_SIGNING_KEY: "sig_5ZB6DVzB1wjE8S6rZ7eenA8Pdnhs",
    });
    const client = new Client({
      baseUrl: environment.QSTASH_URL,
      token: environment.QSTASH_TOKEN,
      devMode: false,
    });
    expect((await client.logs()).events).toEqual([]);
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  test("explains itself, and names a bad option and a taken port", async () => {
    const { qstash } = await setup();
    const [help, badQuota, taken] = await Promise.all([
      finish("--help"),
      finish("--quota", "gold"),
      finish("--port", String(qstash.port)),
    ]);
    expect(help).toMatchObject({ output: expect.stringContaining("--rewrite <from=to>"), code: 0 });
    expect(badQuota).toMatchObject({
      errors: expect.stringContaining("--quota needs one of free, payg, pro"),
      code: 1,
    });
    expect(taken).toMatchObject({
      errors: expect.stringContaining("Set QSTASH_PORT to another port"),
      code: 1,
    });
  });
});
