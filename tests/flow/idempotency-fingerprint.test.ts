import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob } from "../../src/core/define-job.js";
import { createWorld, type World } from "../support/world.js";

const note = defineJob({ type: "test.note", payload: z.unknown(), maxAttempts: 8, run: () => {} });
const other = defineJob({ type: "test.other", payload: z.unknown(), run: () => {} });

let world: World;
beforeAll(async () => {
  world = await createWorld({ jobs: [note, other] });
});
afterAll(() => world.close());

/** Both ways to send the text of one job. */
const ENTRIES = [
  { path: "/api/jobs", wrap: (job: string) => job },
  { path: "/api/jobs/batch", wrap: (job: string) => `{"jobs":[${job}]}` },
];

let lastKey = 0;
const freshKey = (): string => `fingerprint-${++lastKey}`;

async function post(path: string, idempotencyKey: string, rawBody: string) {
  const response = await world.request("POST", path, { idempotencyKey, rawBody });
  const isReplay = response.headers.get("idempotent-replayed") === "true";
  return { status: response.status, isReplay, text: await response.text() };
}

const withPayload = (payload: string): string => `{"type":"${note.type}","payload":${payload}}`;

describe.each(ENTRIES)("for POST $path", ({ path, wrap }) => {
  /** Sends both texts under one key; tells what came of the second. */
  async function afterFirst(first: string, second: string) {
    const key = freshKey();
    const created = await post(path, key, wrap(first));
    expect(created.status, created.text).toBe(202);
    const repeated = await post(path, key, wrap(second));
    if (repeated.isReplay) expect(repeated.text).toBe(created.text);
    return repeated.isReplay ? "the same" : repeated.status;
  }

  test.each([
    [
      "the order of members, and white space",
      `{"type":"${note.type}","payload":{"a":1,"b":{"c":2,"d":[3,{"e":4,"f":5}]}}}`,
      `\n { "payload" : {"b": {"d": [3 ,{"f":5,\t"e":4}], "c":2}, "a":1 }, "type":"${note.type}" } \r\n`,
    ],
    ["escapes", withPayload('"aé/😀"'), withPayload('"\\u0061\\u00e9\\/\\ud83d\\ude00"')],
    ["how a number is written", withPayload("[100,0.5,1e21]"), withPayload("[1.00e2,5E-1,1E+21]")],
    ["a member name that is given twice", withPayload('{"a":2}'), withPayload('{"a":1,"a":2}')],
  ])("%s makes no other request (C09)", async (_, first, second) => {
    expect(await afterFirst(first, second)).toBe("the same");
    expect(await afterFirst(second, first)).toBe("the same");
  });

  test.each([
    ["another Unicode form of the same text", '"\u00e9"', '"e\u0301"'],
    ["another Unicode form of a member name", '{"\u00e9":1}', '{"e\u0301":1}'],
    ["another value", "1", "2"],
    ["a number and its text", "1", '"1"'],
    ["null and nothing", '{"a":null}', "{}"],
    ["the order of items", "[1,2]", "[2,1]"],
    ["a deeper place", '{"a":{"b":1}}', '{"a":1,"b":1}'],
    ["a list and an object", '["a"]', '{"0":"a"}'],
    ["another member of a special name", '{"__proto__":{"a":1}}', '{"__proto__":{"a":2}}'],
    ["a member of a special name and none", '{"__proto__":{"a":1}}', "{}"],
  ])("%s make another request (C13)", async (_, first, second) => {
    expect(await afterFirst(withPayload(first), withPayload(second))).toBe(409);
  });

  const bare = { type: note.type, payload: { n: 1 } };
  test.each([
    ["priority", { priority: 1 }, { priority: 2 }],
    ["priority and its default", {}, { priority: 0 }],
    ["maxAttempts", { maxAttempts: 3 }, { maxAttempts: 4 }],
    ["maxAttempts and the type's own", {}, { maxAttempts: 8 }],
    ["delaySeconds", { delaySeconds: 10 }, { delaySeconds: 11 }],
    ["delaySeconds and its default", {}, { delaySeconds: 0 }],
    ["runAt", { runAt: "2001-05-06T07:08:09Z" }, { runAt: "2001-05-06T07:08:10Z" }],
    ["runAt and none", {}, { runAt: "2001-05-06T07:08:09Z" }],
    // The value that was sent is what counts, not the instant that it means.
    [
      "runAt in another zone",
      { runAt: "2001-05-06T07:08:09Z" },
      { runAt: "2001-05-06T08:08:09+01:00" },
    ],
    ["dedupeKey", { dedupeKey: "a" }, { dedupeKey: "b" }],
    ["dedupeKey and none", {}, { dedupeKey: "a" }],
    ["type", {}, { type: other.type }],
  ])("another %s makes another request (C15)", async (_, first, second) => {
    const textOf = (more: object): string => JSON.stringify({ ...bare, ...more });
    expect(await afterFirst(textOf(first), textOf(second))).toBe(409);
    expect(await afterFirst(textOf(second), textOf(first))).toBe(409);
  });

  test("a value written in any way is one request, and any other value another (C09, C13)", async () => {
    const value = fc.jsonValue({ maxDepth: 3, stringUnit: "grapheme" });
    await fc.assert(
      fc.asyncProperty(value, async (payload) => {
        const sent = JSON.stringify(payload);
        const shuffled = JSON.stringify(reversed(JSON.parse(sent)), null, 2);
        expect(await afterFirst(withPayload(sent), withPayload(shuffled))).toBe("the same");
        expect(await afterFirst(withPayload(sent), withPayload(`[${sent}]`))).toBe(409);
      }),
      { numRuns: 15 },
    );
  });
});

test("the order, the number and the content of a batch's jobs are part of the request (C15)", async () => {
  const key = freshKey();
  const batch = (...numbers: number[]): string =>
    `{"jobs":[${numbers.map((n) => withPayload(String(n))).join()}]}`;
  expect((await post("/api/jobs/batch", key, batch(1, 2))).status).toBe(202);
  for (const different of [batch(2, 1), batch(1), batch(1, 2, 2), batch(1, 3)]) {
    expect((await post("/api/jobs/batch", key, different)).status).toBe(409);
  }
  expect((await post("/api/jobs/batch", key, batch(1, 2))).isReplay).toBe(true);
});

test("both forms of a text are stored as they were sent (C13)", async () => {
  const composed = await world.create(note.type, "\u00e9");
  const decomposed = await world.create(note.type, "e\u0301");
  expect((await world.job(composed)).payload).toBe("\u00e9");
  expect((await world.job(decomposed)).payload).toBe("e\u0301");
});

/** The same value with its members in the opposite order, on every level. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).reverse();
  return Object.fromEntries(members.map(([name, member]) => [name, reversed(member)]));
}
