import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  inexactNumberIn,
  isExactNumber,
  JSON_DEPTH_MAX,
  parseExactJson,
} from "../../src/core/exact-json.js";
import { canonicalText, fingerprint } from "../../src/core/fingerprint.js";
import type { Json } from "../../src/core/job.js";

const faultsOf = (text: string, depthMax = JSON_DEPTH_MAX) => {
  const parsed = parseExactJson(text, depthMax);
  return parsed.ok ? parsed.faults : [{ pointer: "not JSON", detail: parsed.detail }];
};

describe("a payload is exact or refused with its place", () => {
  test.each([
    "9007199254740993",
    "12345678901234567890",
    "1e400",
    "-1e400",
    "1e-400",
    "-0",
    "-0.0",
    "0.1000000000000000055511151231257827",
    "123456789.12345678901",
  ])("the number %s is refused (C06)", (number) => {
    expect(faultsOf(`{"a":[${number}]}`)).toMatchObject([{ pointer: "#/a/0" }]);
    expect(faultsOf(number)).toMatchObject([{ pointer: "#" }]);
  });

  test.each([
    "0",
    "1.10",
    "1e5",
    "1E-7",
    "9007199254740992",
    "1e22",
    "0.1",
    "5e-324",
    "-1.50e+3",
    "1e21",
    "0e99999",
    "100000000000000000000",
  ])("the number %s is kept", (number) => {
    expect(faultsOf(`[${number}]`)).toEqual([]);
  });

  test("where the runtime gives no source text, an inexact number is still found", () => {
    expect(inexactNumberIn('{"a":{"id":9007199254740993}}')).toBe("9007199254740993");
    expect(inexactNumberIn('["9007199254740993 \\" 1e400", -0.0]')).toBe("-0.0");
    expect(inexactNumberIn('{"1e400":[0.1,1e5,-7,"-0"]}')).toBeUndefined();
  });

  test("every double that JavaScript prints is exact", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        fc.pre(!Object.is(number, -0));
        expect(isExactNumber(JSON.stringify(number))).toBe(true);
      }),
    );
  });

  test("NUL and unpaired surrogates are refused in values and in member names (C01, C04)", () => {
    expect(faultsOf('{"a":"x\\u0000y"}')).toMatchObject([{ pointer: "#/a" }]);
    expect(faultsOf('{"a":"\\ud800"}')).toMatchObject([{ pointer: "#/a" }]);
    expect(faultsOf('{"a":["\\udc00x"]}')).toMatchObject([{ pointer: "#/a/0" }]);
    expect(faultsOf('{"\\u0000":1}')).toHaveLength(1);
    expect(faultsOf('{"a":"\\ud83d\\ude00"}')).toEqual([]);
  });

  test("pointers are escaped as RFC 6901 asks", () => {
    expect(faultsOf('{"a/b~c":1e400}')).toMatchObject([{ pointer: "#/a~1b~0c" }]);
  });

  test("nesting up to the bound is taken, one more level is refused, 100,000 cost nothing (D07)", () => {
    const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
    expect(faultsOf(nested(64))).toEqual([]);
    expect(faultsOf(nested(65))).toMatchObject([{ pointer: "#" }]);
    expect(faultsOf(nested(100_000))).toMatchObject([{ pointer: "#" }]);
    expect(faultsOf("[".repeat(100_000))).toMatchObject([{ pointer: "not JSON" }]);
    expect(faultsOf(`["${"[".repeat(1000)}"]`)).toEqual([]);
  });

  test("a body with more values than anybody checks in time is refused as a whole", () => {
    expect(faultsOf(`[${"1,".repeat(199_997)}1]`)).toEqual([]);
    expect(faultsOf(`[${"1,".repeat(200_001)}1]`)).toMatchObject([{ pointer: "#" }]);
    expect(faultsOf(`[${"[],".repeat(1_000_000)}[]]`)).toHaveLength(1);
    expect(faultsOf(`{"a":"${",".repeat(300_000)}"}`)).toEqual([]);
  });

  test("no more faults are listed than anybody reads", () => {
    expect(faultsOf(`[${'"\\u0000",'.repeat(500)}1]`).length).toBeLessThanOrEqual(100);
    expect(faultsOf(`[${"1e400,".repeat(500)}1]`)).toHaveLength(100);
  });

  test("long names around many faults cost no more than the body: nobody waits, answers stay small", () => {
    const name = "ü".repeat(50_000);
    for (const fault of ['"\\u0000"', "9007199254740993"]) {
      const startedMs = performance.now();
      const faults = faultsOf(`{"${name}":[${`${fault},`.repeat(2_000)}1]}`);
      expect(performance.now() - startedMs).toBeLessThan(2_000);
      expect(faults).toHaveLength(100);
      expect(JSON.stringify(faults).length).toBeLessThan(100_000);
    }
  });

  test("__proto__ is a plain member name and pollutes nothing (C16)", () => {
    const parsed = parseExactJson('{"__proto__":{"isAdmin":true}}', 64);
    if (!parsed.ok) throw new Error(parsed.detail);
    expect(Object.hasOwn(parsed.value as object, "__proto__")).toBe(true);
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
    expect(canonicalText(parsed.value)).toBe('{"__proto__":{"isAdmin":true}}');
  });

  test("of duplicate member names the last wins, and only that one is judged", () => {
    expect(faultsOf('{"a":9007199254740993,"a":1}')).toEqual([]);
    expect(faultsOf('{"a":1,"a":9007199254740993}')).toHaveLength(1);
  });
});

describe("the fingerprint", () => {
  const of = (body: Json, method = "POST", path = "/api/jobs") => fingerprint(method, path, body);

  test("does not see member order and white space (C09)", async () => {
    const reversed = JSON.parse('{ "b" : {"d":3, "c":2}, "a":1 }') as Json;
    expect(await of({ a: 1, b: { c: 2, d: 3 } })).toBe(await of(reversed));
  });

  test.each<[string, Json, Json]>([
    ["Unicode forms (C13)", { a: "\u00e9" }, { a: "e\u0301" }],
    ["numbers and text", { a: 1 }, { a: "1" }],
    ["an absent member and null", {}, { a: null }],
    ["an omitted default and a written one (C15)", { type: "t" }, { type: "t", priority: 0 }],
    ["the order of a list", [1, 2], [2, 1]],
    ["an empty list and an empty object", [], {}],
    ["where a text ends", ["a,b"], ["a", "b"]],
  ])("sees %s", async (_, one, other) => {
    expect(await of(one)).not.toBe(await of(other));
  });

  test("sees method and path", async () => {
    expect(await of({}, "POST", "/api/jobs")).not.toBe(await of({}, "POST", "/api/jobs/batch"));
    expect(await of({}, "POST")).not.toBe(await of({}, "PUT"));
  });

  test("is the same after any shuffle of members, and another after any change", async () => {
    const shuffled = (value: Json): Json =>
      Array.isArray(value)
        ? value.map(shuffled)
        : typeof value === "object" && value !== null
          ? Object.fromEntries(
              Object.entries(value)
                .reverse()
                .map(([name, member]) => [name, shuffled(member as Json)]),
            )
          : value;
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        expect(await of(shuffled(value as Json))).toBe(await of(value as Json));
        expect(await of([value as Json])).not.toBe(await of(value as Json));
      }),
      { numRuns: 50 },
    );
  });
});
