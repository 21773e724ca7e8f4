import { describe, expect, test } from "vitest";
import { checkJson, withJson } from "../../src/cli/json-input.js";
import { keyOfLine } from "../../src/cli/load-jobs.js";
import { createPaint, plain, table } from "../../src/cli/paint.js";
import { secondsOfCron, sweepInterval } from "../../src/cli/sweep-interval.js";

const colourless = createPaint(false);

describe("a table", () => {
  test("has aligned columns and no blanks at the ends of its lines", () => {
    expect(table(colourless, ["A", "LONG"], [["wide cell", "b"], ["c"]])).toBe(
      "A          LONG\nwide cell  b\nc\n",
    );
  });

  test("measures text without its colour", () => {
    const rows = [[{ text: "ab", colour: "red" as const }, "c"]];
    const coloured = table(createPaint(true), ["A", "B"], rows);
    const escapes = new RegExp(`${String.fromCharCode(27)}\\[\\d+m`, "g");
    expect(coloured).toMatch(escapes);
    expect(coloured.replace(escapes, "")).toBe(table(colourless, ["A", "B"], rows));
  });

  test("cannot be broken by what stands in a job", () => {
    expect(plain("a\u001b[2J\r\nb\u009bc")).toBe("a [2J b c");
  });
});

describe("JSON that is sent as it was written", () => {
  test("stands inside an object, beside members or alone", () => {
    expect(withJson({ type: "a", due: undefined }, "payload", "[1.0]")).toBe(
      '{"type":"a","payload":[1.0]}',
    );
    expect(withJson({}, "payload", "9007199254740993")).toBe('{"payload":9007199254740993}');
    expect(withJson({ a: 1 }, "payload", undefined)).toBe('{"a":1}');
  });

  test.each(["", "1,2", "{} {}", "{'a':1}", '1}, {"x":1'])("%j is not one value", (text) => {
    expect(() => checkJson(text, "it")).toThrow("it is not JSON");
  });
});

describe("the key of a line", () => {
  test("changes with the file, the number and the text, and with nothing else", () => {
    const key = keyOfLine("jobs.ndjson", { number: 1, text: "{}" });
    expect(key).toBe(keyOfLine("jobs.ndjson", { number: 1, text: "{}" }));
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    const others = [
      keyOfLine("other.ndjson", { number: 1, text: "{}" }),
      keyOfLine("jobs.ndjson", { number: 2, text: "{}" }),
      keyOfLine("jobs.ndjson", { number: 1, text: "{ }" }),
      keyOfLine("jobs.ndjson1", { number: 1, text: "{}" }),
    ];
    expect(new Set([key, ...others]).size).toBe(5);
  });
});

describe("the interval of the sweep", () => {
  test.each([
    ["1m", "* * * * *", 60],
    ["15m", "*/15 * * * *", 900],
    ["1h", "0 * * * *", 3600],
    ["6h", "0 */6 * * *", 21_600],
    ["24h", "0 0 * * *", 86_400],
  ])("%s is %s", (text, cron, seconds) => {
    expect(sweepInterval(text)).toEqual({ cron, seconds });
    expect(secondsOfCron(cron)).toBe(seconds);
  });

  test.each(["7m", "60m", "5h", "0m", "15", "15s", "1d", "-5m", "1.5h"])("%s is none", (text) => {
    expect(sweepInterval(text)).toBeUndefined();
  });

  test("of an expression that somebody else wrote is not guessed", () => {
    expect(secondsOfCron("5 4 * * 1")).toBeUndefined();
  });
});
