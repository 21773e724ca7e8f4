import { afterEach, describe, expect, test, vi } from "vitest";
import sendEmail from "../../src/jobs/send_email.js";
import {
  answering as answeringText,
  type ContextOverrides,
  failure,
  createIssues as issuesOf,
  OPERATION_ID,
  pourForever,
  runJob,
  startTarget,
  type Target,
} from "../support/outbound.js";

const KEY = "re_test_0123456789";
const EMAIL = { to: "ada@example.com", subject: "Hello", text: "Hi" };

type Payload = Parameters<typeof runJob<typeof sendEmail.payload>>[1];

function environment(target: Target) {
  return {
    RESEND_API_KEY: KEY,
    RESEND_BASE_URL: target.url,
    EMAIL_FROM: "Antrean <noreply@example.com>",
    OUTBOUND_ALLOW: target.place,
  };
}

function send(target: Target, payload: Payload = EMAIL, overrides: ContextOverrides = {}) {
  return runJob(sendEmail, payload, { env: environment(target), ...overrides });
}

function answering(status: number, body: unknown, headers: Record<string, string> = {}) {
  return answeringText(status, headers, typeof body === "string" ? body : JSON.stringify(body));
}

function createIssues(payload: unknown, env: Record<string, string | undefined>) {
  return issuesOf(sendEmail, payload, env);
}

afterEach(() => {
  vi.useRealTimers();
});

describe("an e-mail is sent in Resend's format", () => {
  test("with the job's id as Idempotency-Key and the default sender", async () => {
    await using target = await answering(200, { id: "49a3999c" });
    expect(await send(target)).toEqual({ providerId: "49a3999c" });
    const [request] = target.requests;
    expect(request).toMatchObject({
      method: "POST",
      url: "/emails",
      headers: {
        authorization: `Bearer ${KEY}`,
        "content-type": "application/json",
        "idempotency-key": OPERATION_ID,
      },
    });
    expect(JSON.parse(request?.body ?? "")).toEqual({
      from: "Antrean <noreply@example.com>",
      to: ["ada@example.com"],
      subject: "Hello",
      text: "Hi",
    });
  });

  test("with everything that the payload can say", async () => {
    await using target = await answering(200, { id: "1" });
    await send(target, {
      to: ["Ada Lovelace <ada@example.com>", "bob@example.com"],
      from: '"Team, Antrean" <team@example.com>',
      subject: "Grüße",
      html: "<p>Hi</p>",
      cc: "c@example.com",
      bcc: ["d@example.com"],
      replyTo: "r@example.com",
    });
    expect(JSON.parse(target.requests[0]?.body ?? "")).toEqual({
      from: '"Team, Antrean" <team@example.com>',
      to: ["Ada Lovelace <ada@example.com>", "bob@example.com"],
      cc: "c@example.com",
      bcc: ["d@example.com"],
      reply_to: "r@example.com",
      subject: "Grüße",
      html: "<p>Hi</p>",
    });
  });

  test("the same on every attempt, byte for byte, so that the provider can drop repeats", async () => {
    await using target = await startTarget((response, _, count) => {
      response.writeHead(count === 1 ? 500 : 200).end('{"id":"1"}');
    });
    expect((await failure(send(target))).kind).toBe("retry");
    await send(target, EMAIL, { attempt: 2 });
    const [first, second] = target.requests;
    expect(second?.body).toBe(first?.body);
    expect(second?.headers["idempotency-key"]).toBe(first?.headers["idempotency-key"]);
  });

  test("an answer without an id is a success: the e-mail is out", async () => {
    for (const body of ["", "accepted", "[]", '{"id":5}']) {
      await using target = await answering(200, body);
      expect(await send(target)).toEqual({ providerId: null });
    }
  });
});

describe("the payload is checked", () => {
  const env = { RESEND_API_KEY: KEY, EMAIL_FROM: "a@example.com" };

  test("addresses that are none are refused with a pointer", () => {
    const bad = [
      ["", "ada", "ada@", "@example.com", "ada@example", "a b@example.com", "ada@example.com "],
      ["<ada@example.com>", "Ada <ada>", "Ada <ada@example.com", "Ada ada@example.com>"],
      ["Ada <ada@example.com> x", "a@example.com,b@example.com", "Doe, Jane <j@example.com>"],
      ["Ada\r\nBcc: x@example.com <a@example.com>", "ada@example.com\r\nBcc: x@example.com"],
      [
        '"Ada <a@example.com>',
        "A <b@example.com> <c@example.com>",
        `${"a".repeat(300)}@example.com`,
      ],
    ].flat();
    for (const address of bad) {
      expect(createIssues({ ...EMAIL, to: address }, env), address).toMatchObject([
        { path: ["to"] },
      ]);
      const list = { ...EMAIL, to: ["ok@example.com", address] };
      expect(createIssues(list, env), address).toMatchObject([{ path: ["to", 1] }]);
      expect(createIssues({ ...EMAIL, from: address }, env), address).toMatchObject([
        { path: ["from"] },
      ]);
    }
  });

  test("addresses that are some pass", () => {
    const good = ["ada@example.com", "Ada <ada@example.com>", "J. Doe <j+x@sub.example.co.uk>"];
    const named = ['"Doe, Jane" <j@example.com>', "Jürgen Müller <j@example.com>"];
    for (const to of [...good, ...named])
      expect(createIssues({ ...EMAIL, to }, env), to).toEqual([]);
  });

  test("what else is missing, too much or unknown is refused", () => {
    const bad = [
      { ...EMAIL, text: undefined },
      { to: "a@example.com", text: "x" },
      { ...EMAIL, subject: "" },
      { ...EMAIL, subject: "a\r\nBcc: x@example.com" },
      { ...EMAIL, subject: "a".repeat(999) },
      { ...EMAIL, to: [] },
      { ...EMAIL, to: Array.from({ length: 51 }, (_, index) => `a${index}@example.com`) },
      { ...EMAIL, to: 5 },
      { ...EMAIL, attachments: [] },
      { ...EMAIL, reply_to: "a@example.com" },
    ];
    expect(bad.filter((payload) => createIssues(payload, env).length === 0)).toEqual([]);
  });
});

describe("a deployment that cannot send says so at create, and again at call time", () => {
  const complete = { RESEND_API_KEY: KEY, EMAIL_FROM: "a@example.com" };

  test.each([
    ["RESEND_API_KEY", { ...complete, RESEND_API_KEY: undefined }],
    ["RESEND_API_KEY", { ...complete, RESEND_API_KEY: "  " }],
    ["RESEND_API_KEY", { ...complete, RESEND_API_KEY: "re_a b" }],
    ["EMAIL_FROM", { ...complete, EMAIL_FROM: undefined }],
    ["EMAIL_FROM", { ...complete, EMAIL_FROM: "nobody" }],
    ["RESEND_BASE_URL", { ...complete, RESEND_BASE_URL: "http://10.0.0.1" }],
    ["RESEND_BASE_URL", { ...complete, RESEND_BASE_URL: "file:///tmp" }],
    ["RESEND_BASE_URL", { ...complete, RESEND_BASE_URL: "https://mail.example.com:25" }],
  ])("%s: %o", async (name, env) => {
    const [issue] = createIssues(EMAIL, env);
    expect(issue?.message).toContain(name);
    const outboundFetch = vi.fn<typeof fetch>();
    const run = runJob(sendEmail, EMAIL, { env, outboundFetch });
    expect(await failure(run)).toMatchObject({ kind: "fatal", message: issue?.message });
    expect(outboundFetch).not.toHaveBeenCalled();
  });

  test("a sender in the payload makes EMAIL_FROM unnecessary", () => {
    const env = { ...complete, EMAIL_FROM: undefined };
    expect(createIssues({ ...EMAIL, from: "me@example.com" }, env)).toEqual([]);
  });

  test("Resend's own address is the default", async () => {
    const outboundFetch = vi.fn<typeof fetch>(async () => Response.json({ id: "1" }));
    await runJob(sendEmail, EMAIL, { env: complete, outboundFetch });
    expect(outboundFetch.mock.calls[0]?.[0]).toBe("https://api.resend.com/emails");
  });

  test("a base URL may have a path and end in a slash", async () => {
    const outboundFetch = vi.fn<typeof fetch>(async () => Response.json({ id: "1" }));
    const env = { ...complete, RESEND_BASE_URL: "https://mail.example.com/v1/" };
    await runJob(sendEmail, EMAIL, { env, outboundFetch });
    expect(outboundFetch.mock.calls[0]?.[0]).toBe("https://mail.example.com/v1/emails");
  });
});

describe("answers decide whether sending again can help", () => {
  test.each([
    [429, "rate_limit_exceeded"],
    [429, "daily_quota_exceeded"],
    [409, "concurrent_idempotent_requests"],
    [408, "request_timeout"],
    [500, "application_error"],
    [503, "service_unavailable"],
  ])("%i %s is tried again", async (status, name) => {
    await using target = await answering(status, { statusCode: status, name, message: "Later." });
    expect(await failure(send(target))).toMatchObject({
      kind: "retry",
      code: `http_${status}`,
      message: `${target.place} answered ${status}: ${name}: Later.`,
    });
  });

  test.each([
    [400, "invalid_idempotency_key"],
    [401, "missing_api_key"],
    [403, "invalid_api_key"],
    [404, "not_found"],
    [405, "method_not_allowed"],
    [409, "invalid_idempotent_request"],
    [422, "validation_error"],
    [451, "security_error"],
  ])("%i %s ends the job", async (status, name) => {
    await using target = await answering(status, { statusCode: status, name, message: "No." });
    expect(await failure(send(target))).toMatchObject({
      kind: "fatal",
      code: `http_${status}`,
      message: expect.stringContaining(name),
    });
  });

  test("K05: Retry-After is honoured as seconds and as a date", async () => {
    await using target = await startTarget((response, _, count) => {
      const date = new Date(Date.now() + 120_000).toUTCString();
      response.writeHead(429, { "retry-after": count === 1 ? "7" : date }).end("{}");
    });
    expect(await failure(send(target))).toMatchObject({ kind: "retry", delaySeconds: 7 });
    const { delaySeconds } = await failure(send(target));
    expect(delaySeconds).toBeGreaterThanOrEqual(119);
    expect(delaySeconds).toBeLessThanOrEqual(120);
  });

  test("Q02: a redirect is not followed, which would hand the key to another host", async () => {
    await using other = await answering(200, { id: "1" });
    await using target = await answering(307, "", { location: `${other.url}/emails` });
    expect(await failure(send(target))).toMatchObject({ kind: "fatal", code: "http_307" });
    expect(other.requests).toEqual([]);
  });

  test("Q11: an error page without end is cut, and the status decides", async () => {
    await using target = await startTarget((response) => {
      pourForever(response.writeHead(502));
    });
    expect(await failure(send(target))).toMatchObject({ kind: "retry", code: "http_502" });
  });

  test("a provider that cannot be reached, or is silent, is tried again", async () => {
    const gone = await answering(200, {});
    await gone[Symbol.asyncDispose]();
    expect(await failure(send(gone))).toMatchObject({ kind: "retry" });
    const asked = Promise.withResolvers<void>();
    await using silent = await startTarget(() => asked.resolve());
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const failed = failure(send(silent));
    await asked.promise;
    vi.advanceTimersByTime(30_000);
    expect(await failed).toMatchObject({
      kind: "retry",
      message: expect.stringMatching(/ in 30 s$/),
    });
  });

  test("the key is never in an error text, though the provider repeats it", async () => {
    await using target = await answering(401, { name: "x", message: `API key ${KEY} is invalid` });
    const { message } = await failure(send(target));
    expect(message).toContain("API key [key] is invalid");
    expect(message).not.toContain(KEY);
  });
});
