import { afterEach, describe, expect, test, vi } from "vitest";
import { AntreanError, type ClientOptions, createClient } from "../../src/client/client.js";
import type { Sleep } from "../../src/client/time.js";

/** What comes of one request: an answer, a broken connection, or silence. */
type Step = Response | "fault" | "silence";

interface Sent {
  method: string;
  url: string;
  headers: Headers;
  body: string;
}

/** Lets everything happen that waits for nothing but its turn. */
const tick = () => new Promise((resolve) => setImmediate(resolve));

/** A client in virtual time whose requests meet the steps in turn, and the last one ever after. */
function scripted(steps: Step[], options: Partial<ClientOptions> = {}) {
  const sent: Sent[] = [];
  const sleepers = new Set<{ dueMs: number; wake: () => void }>();
  let nowMs = 0;
  const sleep: Sleep = (milliseconds, signal) =>
    new Promise((resolve) => {
      const sleeper = { dueMs: nowMs + milliseconds, wake: resolve };
      sleepers.add(sleeper);
      const stop = () => {
        sleepers.delete(sleeper);
        resolve();
      };
      if (signal?.aborted) stop();
      else signal?.addEventListener("abort", stop);
    });
  const client = createClient({
    baseUrl: "https://jobs.example/queue/",
    apiKey: "secret",
    sleep,
    async fetch(request) {
      const step = steps[Math.min(sent.length, steps.length - 1)];
      const { method, url, headers } = request;
      sent.push({ method, url, headers, body: await request.text() });
      if (step === "silence") return new Promise(() => {});
      if (step === undefined || step === "fault") throw new TypeError("fetch failed");
      return step.clone();
    },
    ...options,
  });
  /** Lets time pass, from one due wait to the next, until the work has settled. */
  async function finish<Result>(work: Promise<Result>): Promise<Result> {
    let settled = false;
    const settle = () => {
      settled = true;
    };
    work.then(settle, settle);
    for (;;) {
      await tick();
      if (settled) return work;
      const [next] = [...sleepers].sort((one, other) => one.dueMs - other.dueMs);
      if (!next) throw new Error("The work waits for something that no time brings.");
      sleepers.delete(next);
      nowMs = next.dueMs;
      next.wake();
    }
  }
  const failure = (work: Promise<unknown>): Promise<AntreanError> =>
    finish(work).then(
      () => Promise.reject(new Error("The work did not fail.")),
      (error: AntreanError) => error,
    );
  return { client, sent, finish, failure, passedMs: () => nowMs, open: sleepers };
}

const ACCEPTED = { jobId: "j1", status: "queued", deduplicated: false, statusUrl: "https://x/j1" };
const JOB = { id: "j1", status: "queued", finishedAt: null };

const ok = (body: unknown, status = 200) => Response.json(body, { status });

function problem(status: number, code: string, headers: Record<string, string> = {}): Response {
  const body = JSON.stringify({
    type: "about:blank",
    status,
    code,
    detail: "No.",
    requestId: "r1",
  });
  const type = { "Content-Type": "application/problem+json" };
  return new Response(body, { status, headers: { ...type, ...headers } });
}

/** Without jitter, waits are what the server asked for and nothing else. */
const withoutJitter = () => vi.spyOn(Math, "random").mockReturnValue(0);

afterEach(() => {
  vi.restoreAllMocks();
});

describe("a request", () => {
  test("carries the key, its caller's headers and the body, to the place of the application", async () => {
    const { client, sent, finish } = scripted([ok(ACCEPTED, 202)], { headers: { "X-Trace": "t" } });
    const runAt = new Date("2030-01-31T09:00:00Z");
    expect(await finish(client.enqueue("greet", { to: "Ada" }, { runAt, priority: 3 }))).toEqual(
      ACCEPTED,
    );
    expect(sent).toMatchObject([{ method: "POST", url: "https://jobs.example/queue/api/jobs" }]);
    expect(Object.fromEntries(sent[0]?.headers ?? [])).toMatchObject({
      authorization: "Bearer secret",
      "content-type": "application/json",
      "idempotency-key": expect.stringMatching(/^[0-9a-f]{32}$/),
      "x-trace": "t",
    });
    expect(JSON.parse(sent[0]?.body ?? "")).toEqual({
      type: "greet",
      payload: { to: "Ada" },
      runAt: "2030-01-31T09:00:00.000Z",
      priority: 3,
    });
  });

  test("has its caller's key if there is one, and another key in every call if not", async () => {
    const { client, sent, finish } = scripted([ok(ACCEPTED, 202)]);
    for (const idempotencyKey of ["order-17", undefined, undefined]) {
      await finish(client.enqueue("greet", {}, { idempotencyKey }));
    }
    const keys = sent.map(({ headers }) => headers.get("Idempotency-Key"));
    expect(keys[0]).toBe("order-17");
    expect(new Set(keys).size).toBe(3);
  });

  test("to an id that is no id stays below the jobs", async () => {
    const { client, sent, finish } = scripted([ok(JOB)]);
    await finish(client.get("a/../b?c#d"));
    expect(sent[0]?.url).toBe("https://jobs.example/queue/api/jobs/a%2F..%2Fb%3Fc%23d");
  });
});

describe("a fault that passes", () => {
  test("leaves one request: same key, same bytes, until it is answered", async () => {
    const steps: Step[] = [
      "fault",
      problem(503, "store_unavailable"),
      "silence",
      ok(ACCEPTED, 202),
    ];
    const { client, sent, finish } = scripted(steps);
    expect(await finish(client.enqueue("greet", { to: "Ada" }))).toEqual(ACCEPTED);
    expect(sent).toHaveLength(4);
    const distinct = sent.map(({ headers, body }) => `${headers.get("Idempotency-Key")} ${body}`);
    expect(new Set(distinct).size).toBe(1);
  });

  test.each([408, 429, 500, 502, 503, 504])("is a %i, whoever answers it", async (status) => {
    const page = new Response("<h1>Sorry</h1>", { status });
    const { client, sent, finish } = scripted([page, ok(JOB)]);
    expect(await finish(client.get("j1"))).toEqual(JOB);
    expect(sent).toHaveLength(2);
  });

  test.each([400, 401, 403, 404, 409, 413, 422])("is not a %i", async (status) => {
    const { client, sent, failure } = scripted([problem(status, "x", { "Retry-After": "5" })]);
    const error = await failure(client.enqueue("greet", {}));
    expect(error).toMatchObject({ status, tries: 1, retryAfterSeconds: 5 });
    expect(sent).toHaveLength(1);
  });

  test("is waited for with full jitter, twice as long every time up to a limit", async () => {
    vi.spyOn(Math, "random").mockReturnValue(1);
    const { client, sent, failure, passedMs } = scripted(["fault"], { retries: 8 });
    await failure(client.get("j1"));
    expect(sent).toHaveLength(9);
    const waitsSeconds = [0.5, 1, 2, 4, 8, 16, 20, 20];
    expect(passedMs()).toBe(waitsSeconds.reduce((sum, each) => sum + each) * 1000);
  });

  test.each([
    ["seconds", { "Retry-After": "7" }, 7],
    [
      "a date, measured from the answer's own",
      { "Retry-After": "Sun, 06 Nov 1994 08:49:49 GMT", Date: "Sun, 06 Nov 1994 08:49:37 GMT" },
      12,
    ],
    ["an hour, which is cut", { "Retry-After": "3600" }, 60],
    ["nonsense", { "Retry-After": "soon" }, 0],
  ])("is waited for as the server asks: %s", async (_, headers, seconds) => {
    withoutJitter();
    const refusal = problem(429, "too_many_requests", headers);
    const { client, finish, passedMs } = scripted([refusal, ok(JOB)]);
    await finish(client.get("j1"));
    expect(passedMs()).toBe(seconds * 1000);
  });

  test("is silence for longer than one try may take", async () => {
    withoutJitter();
    const { client, finish, passedMs } = scripted(["silence", ok(JOB)], { tryTimeoutSeconds: 3 });
    await finish(client.get("j1", { waitSeconds: 20 }));
    expect(passedMs()).toBe(23_000);
  });

  test("leaves no timer behind", async () => {
    const { client, finish, open } = scripted(["fault", ok(JOB)]);
    await finish(client.get("j1"));
    expect(open.size).toBe(0);
  });

  test.each(["replay", "runNow"] as const)("never repeats %s, which has no key", async (method) => {
    const { client, sent, failure } = scripted(["fault"]);
    expect(await failure(client[method]("j1"))).toMatchObject({ code: "network_error", tries: 1 });
    expect(sent).toHaveLength(1);
  });
});

describe("an error", () => {
  test("of the API has its code and everything that it says", async () => {
    const body = {
      code: "validation_failed",
      detail: "The body holds values that are not accepted.",
      requestId: "r1",
      errors: [{ pointer: "#/payload/to", detail: "is required" }],
    };
    const headers = { "Content-Type": "application/problem+json" };
    const answer = new Response(JSON.stringify(body), { status: 422, headers });
    const { client, failure } = scripted([answer]);
    const error = await failure(client.enqueue("greet", {}, { idempotencyKey: "k" }));
    expect(error).toBeInstanceOf(AntreanError);
    expect(error).toMatchObject({ ...body, status: 422, idempotencyKey: "k", tries: 1 });
    expect(error.message).toBe(
      "validation_failed: The body holds values that are not accepted.; #/payload/to is required",
    );
  });

  test("of the network has a code of its own, its cause, and the key to try again with", async () => {
    const { client, failure } = scripted(["fault"], { retries: 2 });
    const error = await failure(client.enqueue("greet", {}, { idempotencyKey: "k" }));
    expect(error).toMatchObject({ code: "network_error", status: undefined, tries: 3 });
    expect(error).toMatchObject({ idempotencyKey: "k", cause: new TypeError("fetch failed") });
  });

  test.each([
    ["a gateway's page", new Response("<h1>Bad</h1>", { status: 404 }), 404],
    ["a gateway's JSON", Response.json({ code: "down" }, { status: 403 }), 403],
    [
      "a login page",
      new Response("<h1>Hi</h1>", { headers: { "Content-Type": "text/html" } }),
      200,
    ],
    [
      "JSON that breaks off",
      new Response("{", { headers: { "Content-Type": "application/json" } }),
      200,
    ],
    ["a redirect", new Response(null, { status: 308, headers: { Location: "https://y/" } }), 308],
  ])("for %s does not pass for one of the API", async (_, answer, status) => {
    const { client, failure } = scripted([answer]);
    expect(await failure(client.get("j1"))).toMatchObject({ code: "unexpected_response", status });
  });

  test("in the request itself is thrown as it is and not repeated", async () => {
    const { client, sent, failure } = scripted([ok(JOB)], { apiKey: "line\nbreak" });
    expect(await failure(client.get("j1"))).toBeInstanceOf(TypeError);
    expect(sent).toHaveLength(0);
  });
});

describe("an aborted call", () => {
  test("ends at once with the signal's reason, also where fetch heeds no signal", async () => {
    const { client, sent, open, passedMs } = scripted(["silence"]);
    const controller = new AbortController();
    const work = client.get("j1", { signal: controller.signal });
    await tick();
    controller.abort(new Error("enough"));
    await expect(work).rejects.toThrow("enough");
    expect([sent.length, passedMs(), open.size]).toEqual([1, 0, 0]);
  });

  test("ends during the wait before a repeat", async () => {
    const refusal = problem(503, "misconfigured", { "Retry-After": "60" });
    const { client, sent, open, passedMs } = scripted([refusal]);
    const controller = new AbortController();
    const work = client.enqueue("greet", {}, { signal: controller.signal });
    await tick();
    controller.abort(new Error("enough"));
    await expect(work).rejects.toThrow("enough");
    expect([sent.length, passedMs(), open.size]).toEqual([1, 0, 0]);
  });

  test("sends nothing if it was aborted before", async () => {
    const { client, sent } = scripted([ok(ACCEPTED)]);
    const signal = AbortSignal.abort(new Error("too late"));
    await expect(client.enqueue("greet", {}, { signal })).rejects.toThrow("too late");
    expect(sent).toEqual([]);
  });
});
