import { describe, expect, test } from "vitest";
import * as z from "zod";
import { FatalError, RetryAfterError } from "../../src/core/define-job.js";
import { byAttempt, scripted, succeed, TYPE, throws } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";

const flow = setUpFlow();

/** A proxy that throws whatever is asked of it. */
function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const cyclic: { self?: unknown } = {};
cyclic.self = cyclic;

class Stubborn extends Error {
  override get message(): string {
    throw new Error("no message for you");
  }
}

function fail(): never {
  throw new Error("not to be read");
}

const named = (name: string, more: object) => Object.assign(new Error("asked"), { name, ...more });

const retried: [string, unknown, string | RegExp][] = [
  ["undefined", undefined, "undefined was thrown"],
  ["null", null, /null/],
  ["false", false, "false was thrown"],
  ["zero", 0, "0 was thrown"],
  ["NaN", Number.NaN, "NaN was thrown"],
  ["a bigint", 9007199254740993n, "9007199254740993 was thrown"],
  ["a symbol", Symbol("sign"), /sign/],
  ["a function", () => 1, /was thrown/],
  ["an empty text", "", "an empty string was thrown"],
  ["a text", "boom", "boom"],
  ["a text with NUL (J05)", "a\u0000b", "a\ufffdb"],
  ["an error with NUL (J05)", new Error("a\u0000b"), "a\ufffdb"],
  ["a lone surrogate (J05)", new Error("a\ud800b"), "a\ufffdb"],
  ["two halves the wrong way round (J05)", new Error("\udc00\ud800"), "\ufffd\ufffd"],
  ["an error without a message", new Error(""), "Error"],
  ["a subclass", new TypeError("no such thing"), "no such thing"],
  ["an aggregate", new AggregateError([new Error("a")], "several"), "several"],
  ["an object", { reason: "busy" }, '{"reason":"busy"}'],
  ["an object with a message", { message: "busy" }, "busy"],
  ["a list", [1, 2], "[1,2]"],
  ["a cycle", cyclic, /cannot be described/],
  ["an object without a prototype", Object.create(null), "{}"],
  ["an object that refuses JSON", { toJSON: () => undefined }, "an object was thrown"],
  ["a revoked proxy", revoked(), /cannot be described/],
  ["an error whose message throws", new Stubborn(), /cannot be described/],
  ["a rejected promise", Promise.resolve("later"), "{}"],
  ["a status that is none", { status: "404", message: "text" }, "text"],
  ["a status out of range", { status: 9000, message: "odd" }, "odd"],
  ["a lease loss of its own making", named("LeaseLostError", {}), "asked"],
  ["a snooze of its own making", named("SnoozeSignal", {}), "asked"],
  ["an error whose message is a number", named("Error", { message: 42 }), /./],
  ["an error whose message is an object", named("Error", { message: { a: 1 } }), /./],
  ["an error whose name is a number", Object.assign(new Error(""), { name: 7 }), /./],
  ["a wish that is a symbol", named("RetryAfterError", { retryAfter: Symbol("soon") }), /./],
  ["a wish that throws", named("RetryAfterError", { retryAfter: { valueOf: fail } }), /./],
  ["a frozen error", Object.freeze(new Error("cold")), "cold"],
  ["quotes and backslashes", new Error(`'"\\'); drop table jobs;--`), `'"\\'); drop table jobs;--`],
];

test.each(retried)("%s can be thrown and is recorded as a failure", async (_, value, message) => {
  flow.start([scripted(byAttempt(throws(value), succeed()))]);
  const jobId = await flow.create(TYPE, {});
  expect(await flow.deliverOne()).toMatchObject({ status: 200 });
  const job = await flow.job(jobId);
  expect(job).toMatchObject({
    status: "failed",
    attempts: 1,
    lastError: { code: "handler_error", retryable: true },
  });
  expect(job.lastError?.message).toMatch(message);
  expect(await flow.attempts(jobId)).toMatchObject([
    { outcome: "failed", error_code: "handler_error", error_message: job.lastError?.message },
  ]);
  await flow.runUntilIdle();
  expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 2 });
});

const statuses = [
  ...[400, 404, 405, 410, 413, 414, 415, 422].map((status) => ({ status, ends: "dead_letter" })),
  ...[401, 403, 408, 409, 423, 425, 429, 500, 502, 503, 504, 100, 200, 302].map((status) => ({
    status,
    ends: "failed",
  })),
];
const carriers = [
  (status: number) => ({ status, message: "http" }),
  (status: number) => Object.assign(new Error("http"), { statusCode: status }),
  (status: number) => Object.assign(new Error("http"), { response: { status } }),
];

test("HTTP statuses decide whether another try can help, wherever an error carries them", async () => {
  const payloadSchema = z.object({ status: z.int(), carrier: z.int() });
  flow.start([
    scripted(({ payload }) => {
      const { status, carrier } = payloadSchema.parse(payload);
      throw carriers[carrier]?.(status);
    }),
  ]);
  const jobs = statuses.map(({ status }, n) => ({
    type: TYPE,
    payload: { status, carrier: n % carriers.length },
    maxAttempts: 2,
  }));
  const response = await flow.request("POST", "/api/jobs/batch", { body: { jobs } });
  expect(response.status).toBe(202);
  await flow.qstash.deliverDue();
  const rows = await flow.query(
    `select (payload_json ->> 'status')::int as status, status as ends, last_error ->> 'code' as code
     from jobs order by 1`,
  );
  const expected = statuses.map((each) => ({ ...each, code: `http_${each.status}` }));
  expect(rows).toEqual(expected.sort((a, b) => a.status - b.status));
});

describe("a permanent failure", () => {
  test.each([
    ["a fatal error", new FatalError("never"), "fatal"],
    ["a fatal error with a code", new FatalError("never", { code: "no_account" }), "no_account"],
    ["a code that cannot be one", new FatalError("never", { code: "No Account\u0000" }), "fatal"],
    ["one of another copy of the module", named("FatalError", { code: "gone" }), "gone"],
    ["one that is no error", { name: "FatalError", message: "never" }, "fatal"],
    ["a fatal error with an HTTP status", named("FatalError", { status: 503 }), "fatal"],
  ])("%s ends the job at once, and QStash is not asked to retry (J10)", async (_, value, code) => {
    flow.start([scripted(throws(value))]);
    const jobId = await flow.create(TYPE, {}, { maxAttempts: 5 });
    expect(await flow.deliverOne()).toMatchObject({ status: 200, outcome: "delivered" });
    expect(flow.qstash.pending()).toEqual([]);
    expect(await flow.job(jobId)).toMatchObject({
      status: "dead_letter",
      attempts: 1,
      attemptsLeft: 4,
      nextRunAt: null,
      lastError: { code, retryable: false },
    });
  });

  test("a payload that no longer fits its schema is one, and says where", async () => {
    flow.start([scripted(succeed())]);
    const jobId = await flow.create(TYPE, { to: 5, subject: "hello" });
    flow.start([
      scripted(succeed(), { payload: z.object({ to: z.email(), subject: z.string() }) }),
    ]);
    await flow.qstash.deliverDue();
    const job = await flow.job(jobId);
    expect(job).toMatchObject({
      status: "dead_letter",
      attempts: 1,
      lastError: { code: "payload_invalid", retryable: false },
    });
    expect(job.lastError?.message).toContain("to: ");
    expect(job.lastError?.message).not.toContain("subject: ");
  });
});

describe("a schema that changed since the job was created", () => {
  test.each([
    ["NUL in its message", z.unknown().refine(() => false, "no\u0000pe"), "no\ufffdpe"],
    [
      "half a character in its message",
      z.unknown().refine(() => false, "no\ud800pe"),
      "no\ufffdpe",
    ],
    ["5 MB of message", z.unknown().refine(() => false, "🚀".repeat(1_250_000)), "🚀"],
  ])("%s: the refusal is recorded (J05)", async (_, payload, text) => {
    flow.start([scripted(succeed())]);
    const jobId = await flow.create(TYPE, {});
    flow.start([scripted(succeed(), { payload })]);
    expect(await flow.deliverOne()).toMatchObject({ status: 200 });
    const { status, lastError } = await flow.job(jobId);
    expect({ status, code: lastError?.code }).toEqual({
      status: "dead_letter",
      code: "payload_invalid",
    });
    expect(lastError?.message).toContain(text);
    expect(lastError?.message.isWellFormed()).toBe(true);
    expect(lastError?.message.length).toBeLessThanOrEqual(2000);
  });

  test.each([
    ["a check that throws", z.unknown().refine(fail)],
    ["a transform that throws", z.unknown().transform(fail)],
    ["an asynchronous check that fails", z.unknown().refine(async () => fail())],
  ])("%s is a failure like a handler's, with its tries", async (_, payload) => {
    flow.start([scripted(succeed())]);
    const jobId = await flow.create(TYPE, {});
    flow.start([scripted(succeed(), { payload })]);
    expect(await flow.deliverOne()).toMatchObject({ status: 200 });
    expect(await flow.job(jobId)).toMatchObject({
      status: "failed",
      attempts: 1,
      lastError: { code: "handler_error", message: "not to be read" },
    });
    flow.start([scripted(succeed())]);
    await flow.runUntilIdle();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 2 });
  });
});

describe("error text", () => {
  test("of 5 MB, twenty times, stays bounded in the job and in its history (J08)", async () => {
    const huge = "é".repeat(2_500_000);
    flow.start([scripted(throws(new Error(huge)), { backoff: { baseSeconds: 1, maxSeconds: 1 } })]);
    const jobId = await flow.create(TYPE, {}, { maxAttempts: 20 });
    await flow.runUntilIdle();
    const job = await flow.job(jobId);
    expect(job).toMatchObject({ status: "dead_letter", attempts: 20 });
    expect(job.lastError?.message).toBe("é".repeat(4096));
    const [size] = await flow.query(
      `select count(*)::int, max(octet_length(error_message))::int as bytes,
         pg_column_size((select last_error from jobs)) < 20000 as small from job_attempts`,
    );
    expect(size).toEqual({ count: 20, bytes: 8192, small: true });
  });

  test.each([
    ["an emoji at the cut", `${"x".repeat(8190)}🚀 and more`, "x".repeat(8190)],
    ["a letter of two bytes at the cut", `${"x".repeat(8191)}é`, "x".repeat(8191)],
    ["exactly as long as allowed", "y".repeat(8192), "y".repeat(8192)],
    ["nothing but NULs", "\u0000".repeat(9000), "\ufffd".repeat(2730)],
  ])("%s is never cut inside a character (J08)", async (_, text, stored) => {
    flow.start([scripted(throws(new Error(text)))]);
    const jobId = await flow.create(TYPE, {});
    await flow.qstash.deliverDue();
    expect((await flow.job(jobId)).lastError?.message).toBe(stored);
  });
});

describe("a wish for the next try", () => {
  test.each([
    ["no number", Number.NaN, 1],
    ["negative", -5, 1],
    ["zero", 0, 1],
    ["a fraction", 1.2, 2],
    ["infinite", Number.POSITIVE_INFINITY, 86_400],
    ["a week", 7 * 86_400, 86_400],
    ["an invalid date", new Date(Number.NaN), 1],
    ["a date in the past", new Date(0), 1],
    ["a date far ahead", new Date("9999-12-31T00:00:00Z"), 86_400],
  ])("%s: clamped to 1 s to 24 h (K05)", async (_, wish, seconds) => {
    flow.start([scripted(throws(new RetryAfterError(wish)))]);
    const jobId = await flow.create(TYPE, {});
    await flow.qstash.deliverDue();
    expect(await flow.job(jobId)).toMatchObject({ status: "failed", attempts: 1 });
    expect(
      await flow.query(
        "select extract(epoch from next_run_at - updated_at)::float8 as s from jobs",
      ),
    ).toEqual([{ s: seconds }]);
  });
});
