import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseExactJson } from "../../src/core/exact-json.js";
import type { Json } from "../../src/core/job.js";
import { parseJson } from "../../src/core/parse-json.js";
import { storableJson } from "../../src/engine/storable-json.js";

/** Every way in which a value with member names comes to us. */
const WAYS: [string, (text: string, value: Json) => Json][] = [
  ["from the database", (text) => parseJson(text)],
  [
    "in a request",
    (text) => {
      const parsed = parseExactJson(text, 64);
      return parsed.ok && parsed.faults.length === 0 ? parsed.value : null;
    },
  ],
  ["from a handler", (_, value) => storableJson(value).value],
];

/** Short names, so that many begin alike, of what an escape is needed for and what it is written with. */
const names = fc.string({
  unit: fc.constantFrom("\\", '"', "\n", "n", "u", "0", "\ue000"),
  maxLength: 3,
});
const values: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<Json>(1, '\\"', '"\\":'),
    fc.array(tie("value"), { maxLength: 3 }),
    fc
      .array(fc.tuple(names, tie("value")), { maxLength: 4 })
      .map((members) => Object.fromEntries(members)),
  ),
})).value;

describe.each(WAYS)("%s", (_, read) => {
  test("a member name with an escape is not taken for one that was read before it", () => {
    read('{"h":1,"\\\\":0}', { h: 1, "\\": 0 });
    for (const name of ['"', "\n", "\t", "\u0001"]) {
      const value = { h: 1, [name]: { [`${name}${name}`]: 2 } };
      expect(read(JSON.stringify(value), value)).toEqual(value);
    }
  });

  test("values come back with the names that they had, however names begin", () => {
    fc.assert(
      fc.property(values, (value) => isDeepStrictEqual(read(JSON.stringify(value), value), value)),
      { numRuns: 2000 },
    );
  });
});

test("of a name that comes twice the last one counts, however it is written", () => {
  const [, request] = WAYS[1] ?? [];
  const text = '{"a\\n":1,"b":2,"a\\u000a":3,"\\u0062":4,"\\u005f_proto__":5}';
  const value = request?.(text, null);
  expect(value).toEqual(
    Object.fromEntries([
      ["a\n", 3],
      ["b", 4],
      ["__proto__", 5],
    ]),
  );
});

test("a fault is told at the name that was sent", () => {
  const parsed = parseExactJson('{"a\\"b":[1e400],"\\u0000":1}', 64);
  expect(parsed.ok && parsed.faults.map(({ pointer }) => pointer)).toEqual(["#/a%22b/0", "#/%00"]);
});
