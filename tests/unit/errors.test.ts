import { describe, expect, test } from "vitest";
import {
  AttemptAbortedError,
  classifyFailure,
  cutText,
  FatalError,
  RetryAfterError,
} from "../../src/core/errors.js";

const NOW_MS = Date.parse("2026-01-01T00:00:00Z");
const classify = (thrown: unknown) => classifyFailure(thrown, NOW_MS);

describe("a thrown value becomes a failure that can be stored", () => {
  test.each([
    ["undefined", undefined, "undefined was thrown"],
    ["null", null, "null was thrown"],
    ["an empty string", "", "an empty string was thrown"],
    ["a string", "boom", "boom"],
    ["a number", 42, "42 was thrown"],
    ["a symbol", Symbol("s"), "Symbol(s) was thrown"],
    ["a bigint", 1n, "1 was thrown"],
    ["an error without a message", new Error(""), "Error"],
    ["a plain object", { a: 1 }, '{"a":1}'],
    ["an object with a message", { message: "m" }, "m"],
    ["a function", function named() {}, "function named() {} was thrown"],
  ])("%s", (_, thrown, message) => {
    expect(classify(thrown)).toMatchObject({ kind: "retry", code: "handler_error", message });
  });

  test("an object that throws when it is read", () => {
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error("no");
        },
      },
    );
    expect(classify(hostile)).toMatchObject({ kind: "retry", code: "handler_error" });
  });

  test("NUL and lone surrogates in the text are replaced, so that Postgres takes it (J05)", () => {
    expect(classify(new Error("a\u0000b\ud800c")).message).toBe("a\ufffdb\ufffdc");
  });

  test("a message of five megabytes is cut to 8 KiB, never inside a character (J08)", () => {
    const { message } = classify(new Error(`x${"é".repeat(2_500_000)}`));
    const bytes = new TextEncoder().encode(message);
    expect(bytes.length).toBeLessThanOrEqual(8192);
    expect(bytes.length).toBeGreaterThan(8180);
    expect(message).not.toContain("\ufffd");
    expect(cutText("😀😀", 5)).toBe("😀");
  });
});

describe("errors steer their job", () => {
  test("FatalError ends it at once, with its own code if it has a sane one (J10)", () => {
    expect(classify(new FatalError("no"))).toEqual({ kind: "fatal", code: "fatal", message: "no" });
    expect(classify(new FatalError("no", { code: "effect_unknown" })).code).toBe("effect_unknown");
    expect(classify(new FatalError("no", { code: "Not sane!" })).code).toBe("fatal");
  });

  test.each([400, 404, 405, 410, 413, 414, 415, 422])("HTTP %i is fatal", (status) => {
    for (const thrown of [{ status }, { statusCode: status }, { response: { status } }]) {
      expect(classify(thrown)).toMatchObject({ kind: "fatal", code: `http_${status}` });
    }
  });

  test.each([401, 403, 408, 409, 425, 429, 500, 502, 503, 504])(
    "HTTP %i is tried again",
    (status) => {
      expect(classify(Object.assign(new Error("x"), { status }))).toMatchObject({
        kind: "retry",
        code: `http_${status}`,
      });
    },
  );

  test("a status that is no HTTP status is ignored", () => {
    for (const status of [0, 99, 600, 404.5, "404", Number.NaN]) {
      expect(classify({ message: "m", status }).code).toBe("handler_error");
    }
  });

  test.each([
    [0, 1],
    [-5, 1],
    [0.2, 1],
    [17.1, 18],
    [1e9, 86_400],
    [Number.NaN, 1],
    [new Date(NOW_MS + 120_000), 120],
    [new Date(Number.NaN), 1],
    [new Date(0), 1],
  ])("RetryAfterError(%s) waits %i s, within 1 s and 24 h (K05)", (wish, seconds) => {
    expect(classify(new RetryAfterError(wish)).delaySeconds).toBe(seconds);
  });

  test("an attempt that was stopped by its time limit is a timeout", () => {
    expect(classify(new AttemptAbortedError("timeout", "late")).code).toBe("timeout");
  });

  test("steering errors are known by name, so that two copies of the module agree", () => {
    const foreign = Object.assign(new Error("stop"), { name: "FatalError", code: "fatal" });
    expect(classify(foreign).kind).toBe("fatal");
  });
});
