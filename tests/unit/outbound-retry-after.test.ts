import { describe, expect, test } from "vitest";
import { readRetryAfterSeconds } from "../../src/jobs/outbound/retry-after.js";

const DATE = "Sun, 06 Nov 2033 08:49:37 GMT";

const read = (retryAfter: string, date: string = DATE) =>
  readRetryAfterSeconds(new Headers({ "retry-after": retryAfter, date }));

describe("K05: Retry-After is honoured in each of its forms", () => {
  test("as seconds", () => {
    expect(read("120")).toBe(120);
    expect(read("  1 ")).toBe(1);
    expect(read("99999999999999999999999")).toBeGreaterThan(1e20);
  });

  test("as a date, in the three forms of HTTP", () => {
    expect(read("Sun, 06 Nov 2033 08:51:37 GMT")).toBe(120);
    expect(read("Sunday, 06-Nov-33 08:51:37 GMT")).toBe(120);
    expect(read("Sun Nov  6 08:51:37 2033")).toBe(120);
    expect(read("Mon, 07 Nov 2033 08:49:37 GMT")).toBe(86_400);
  });

  test("measured on the sender's own clock, however wrong ours or theirs is", () => {
    expect(read("Thu, 01 Jan 1998 00:02:00 GMT", "Thu, 01 Jan 1998 00:00:00 GMT")).toBe(120);
    expect(read("Fri, 01 Jan 2100 00:02:00 GMT", "Fri, 01 Jan 2100 00:00:00 GMT")).toBe(120);
  });

  test("by our clock when the sender gave no readable Date", () => {
    const inTwoMinutes = new Date(Date.now() + 120_000).toUTCString();
    for (const date of ["", "yesterday"]) {
      const seconds = read(inTwoMinutes, date) ?? 0;
      expect(seconds).toBeGreaterThan(110);
      expect(seconds).toBeLessThanOrEqual(120);
    }
  });

  test("and never read as «at once»: what is not a wish to wait leaves the backoff alone", () => {
    const texts = [
      ["", "soon", "NaN", "-1", "1.5", "3.5", "1e3", "0x10", "Infinity", "0", "1, 2"],
      ["Sun, 06 Nov 2033 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94"],
      ["Sun, 06 Nov 2033 08:51:37", "Sun, 06 Nov 2033 08:51:37 +0200", "06 Nov 2033 08:51:37 GMT"],
      ["Sun, 31 Feb 2033 08:51:37 GMT", "Sun, 06 Foo 2033 08:51:37 GMT", "2033-11-06T08:51:37Z"],
      ["Sun, 06 Nov 2033 24:51:37 GMT", "Sun, 06 Nov 2033 08:60:37 GMT"],
    ].flat();
    expect(texts.filter((text) => read(text) !== undefined)).toEqual([]);
    expect(readRetryAfterSeconds(new Headers())).toBeUndefined();
  });
});
