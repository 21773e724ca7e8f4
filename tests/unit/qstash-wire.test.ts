import { describe, expect, test } from "vitest";
import { readDestination } from "../../dev/qstash/wire/destination.js";
import { parseDurationMs, parseSecondsOrDurationMs } from "../../dev/qstash/wire/duration.js";
import { canonicalHeaderName, headerRecord } from "../../dev/qstash/wire/headers.js";
import { readRetryAfterMs } from "../../dev/qstash/wire/retry-after.js";

describe("durations", () => {
  test.each([
    ["50s", 50_000],
    ["1m", 60_000],
    ["10h", 36_000_000],
    ["1d10h30m", 124_200_000],
    ["1.5h", 5_400_000],
    [".5s", 500],
    ["250ms", 250],
    ["2000us", 2],
    ["3000µs", 3],
    ["5000000ns", 5],
    ["0", 0],
    ["0s", 0],
    ["", undefined],
    ["10", undefined],
    ["s", undefined],
    ["1w", undefined],
    ["1h ", 3_600_000],
    ["1 h", undefined],
    ["-1s", undefined],
    ["1h30", undefined],
  ])("%j is %s ms", (text, ms) => {
    expect(parseDurationMs(text)).toBe(ms);
  });

  test("a bare number is seconds only where that is meant", () => {
    expect(parseSecondsOrDurationMs("10")).toBe(10_000);
    expect(parseSecondsOrDurationMs("2m")).toBe(120_000);
  });
});

describe("the delay a destination asks for", () => {
  const now = Date.parse("2027-01-15T08:00:00Z");
  const read = (headers: Record<string, string>) => readRetryAfterMs(new Headers(headers), now);

  test.each([
    ["30", 30_000],
    ["0", 0],
    ["1.5", 1_500],
    ["6m5s", 365_000],
    ["Fri, 15 Jan 2027 08:00:10 GMT", 10_000],
    ["Fri, 15 Jan 2027 07:00:00 GMT", 0],
    ["86400", 86_400_000],
    ["86401", undefined],
    ["Sun, 17 Jan 2027 08:00:00 GMT", undefined],
    ["-5", undefined],
    ["", undefined],
    ["tomorrow", undefined],
    ["NaN", undefined],
  ])("Retry-After %j is %s ms", (value, ms) => {
    expect(read({ "Retry-After": value })).toBe(ms);
  });

  test("Retry-After comes before the rate-limit headers, which help when it is malformed", () => {
    expect(read({ "Retry-After": "1", "X-RateLimit-Reset": "2" })).toBe(1_000);
    expect(read({ "Retry-After": "soon", "X-RateLimit-Reset": "2" })).toBe(2_000);
    expect(read({ "X-RateLimit-Reset-Tokens": "1s", "X-RateLimit-Reset-Requests": "2s" })).toBe(
      2_000,
    );
    expect(read({})).toBeUndefined();
  });

  test("more than a day is not replaced by another header: the usual backoff applies", () => {
    expect(read({ "Retry-After": "90000", "X-RateLimit-Reset": "2" })).toBeUndefined();
  });
});

describe("destinations", () => {
  test.each([
    ["https://h/a", undefined, "https://h/a", []],
    ["https://h/a", "", "https://h/a?", []],
    ["https://h/a", "x=1&x=2&y=a%20b", "https://h/a?x=1&x=2&y=a%20b", []],
    ["https://h/a", "upstash-retries=3", "https://h/a", [["upstash-retries", "3"]]],
    ["https://h/a", "x=1&qstash_token=t", "https://h/a?x=1", []],
    [
      "https%3A%2F%2Fh%2Fa%3Fx%3D1",
      "upstash-delay=1s",
      "https://h/a?x=1",
      [["upstash-delay", "1s"]],
    ],
    ["http:/h/a", undefined, "http://h/a", []],
    ["https://h/a?x=1&Upstash-Delay=1s", undefined, "https://h/a?x=1&Upstash-Delay=1s", []],
    ["group", undefined, "group", []],
  ])("%s ? %s is %s", (path, query, text, config) => {
    expect(readDestination(path, query)).toEqual({ text, config });
  });
});

test("header names are shown in Go's casing, repeated ones with all their values", () => {
  expect(canonicalHeaderName("x-request-ID")).toBe("X-Request-Id");
  expect(
    headerRecord([
      ["x-a", "1"],
      ["X-A", "2"],
      ["content-type", "text/plain"],
    ]),
  ).toEqual({ "X-A": ["1", "2"], "Content-Type": ["text/plain"] });
});
