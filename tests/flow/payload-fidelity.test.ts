import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob } from "../../src/core/define-job.js";
import type { Json } from "../../src/core/job.js";
import { parseJson } from "../../src/core/parse-json.js";
import { createWorld, type World } from "../support/world.js";

/** What handlers were given, by job. */
const handed = new Map<string, unknown>();

/** Gives its payload back as result, progress and result of an effect. */
const mirror = defineJob({
  type: "test.mirror",
  payload: z.unknown(),
  run: async ({ payload, operationId, once, progress }) => {
    handed.set(operationId, payload);
    await progress(payload as Json);
    return once("mirror", () => payload as Json);
  },
});

let world: World;
beforeAll(async () => {
  world = await createWorld({ jobs: [mirror] });
});
afterAll(() => world.close());

/** Creates a job of each payload text, one alone and the others in a batch; gives the ids in order. */
async function createAll(texts: string[]): Promise<string[]> {
  const [first, ...others] = texts.map((text) => `{"type":"${mirror.type}","payload":${text}}`);
  const alone = await world.request("POST", "/api/jobs", { rawBody: first });
  const { jobId } = (await alone.json()) as { jobId: string };
  if (others.length === 0) return [jobId];
  const rawBody = `{"jobs":[${others.join()}]}`;
  const batch = await world.request("POST", "/api/jobs/batch", { rawBody });
  const answer = (await batch.json()) as { jobs: { jobId: string }[] };
  expect(batch.status, JSON.stringify(answer)).toBe(202);
  return [jobId, ...answer.jobs.map((each) => each.jobId)];
}

/** Runs a job for each text, and tells where its payload was another value than the text says. */
async function changes(texts: string[]): Promise<string[]> {
  const ids = await createAll(texts);
  await world.qstash.deliverDue();
  const places = await Promise.all(
    ids.map(async (id) => {
      const { payload, result, progress } = await world.job(id);
      const effect = await world.database.pg.query(
        "select result_json::text as value from job_effects where job_id = $1",
        [id],
      );
      const [row] = effect.rows;
      const ledger = row && parseJson(row.value ?? "null");
      return { handler: handed.get(id), payload, result, progress, ledger };
    }),
  );
  return places.flatMap((values, at) => {
    const sent = parseJson(texts[at] ?? "");
    return Object.entries(values)
      .filter(([, value]) => !isDeepStrictEqual(value, sent))
      .map(([place, value]) => `${place}: ${JSON.stringify(value)} instead of ${texts[at]}`);
  });
}

const strings = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.string({ unit: "binary" }).map((text) => text.toWellFormed().replaceAll("\u0000", "0")),
  // Texts that look like what is refused, and like what quoting goes wrong with.
  fc.constantFrom(
    "\\u0000",
    "\\ud800",
    '"',
    "\\",
    "'",
    "$1",
    "{id}",
    "%",
    "\u2028",
    "\ufeff",
    "null",
  ),
);
const names = fc.oneof(
  strings,
  fc.constantFrom(
    "__proto__",
    "constructor",
    "prototype",
    "toString",
    "toJSON",
    "",
    "0",
    "-1",
    "a.b",
  ),
);
const numbers = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number || 0),
  fc.maxSafeInteger(),
  fc.constantFrom(5e-324, 1.7976931348623157e308, 2 ** 53, 1e21, 1e-7, 0.1, 1 / 3, -1e300),
);
const { value } = fc.letrec<{ value: unknown; list: unknown[]; object: object }>((tie) => ({
  value: fc.oneof(
    { depthSize: "medium" },
    strings,
    numbers,
    fc.boolean(),
    fc.constant(null),
    tie("list"),
    tie("object"),
  ),
  list: fc.array(tie("value"), { maxLength: 6 }),
  object: fc
    .array(fc.tuple(names, tie("value")), { maxLength: 6 })
    // Not by assignment, which would make the member __proto__ the object's prototype.
    .map((members) => Object.fromEntries(members)),
}));

test("any value that is accepted reaches the handler, GET, result, progress and ledger as it was sent", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(value, { minLength: 12, maxLength: 12 }), async (values) => {
      expect(await changes(values.map((each) => JSON.stringify(each)))).toEqual([]);
    }),
    // Each try costs twelve jobs: to look for a smaller counterexample would outlast the test.
    { numRuns: 8, endOnFailure: true },
  );
});

test("special member names come back as own members, and no prototype changes (C16)", async () => {
  const texts = [
    '{"__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}}}',
    '{"__proto__":null}',
    '[{"a":{"__proto__":[1,{"__proto__":"x"}]}}]',
    '{"hasOwnProperty":1,"valueOf":2,"toString":3,"then":4,"toJSON":5}',
  ];
  expect(await changes(texts)).toEqual([]);
  expect(({} as { isAdmin?: unknown }).isAdmin).toBeUndefined();
  expect(Object.getOwnPropertyNames(Object.prototype)).not.toContain("isAdmin");
});

test("a member name is not taken for another that an earlier job of the same shape had", async () => {
  // The empty name comes first in jsonb, too, whose order is that of lengths.
  const texts = ['{"":1,"\\\\":0}', '{"":1,"\\"":2}', '{"":1,"\\n":{"\\n\\n":3}}', '{"":1,"n":4}'];
  for (const text of texts) expect(await changes([text])).toEqual([]);
});

test("numbers come back as they were sent wherever a double holds them (C06)", async () => {
  const texts = [
    ...["0", "-1", "1.0", "1.10", "100", "1e2", "1E+2", "1e-7", "0.1", "123456.789e3"],
    ...["9007199254740991", "9007199254740992", "-9007199254740994", "1e21", "1e23"],
    ...["5e-324", "2.2250738585072014e-308", "1.7976931348623157e308", "0e400", "0.000"],
  ];
  expect(await changes([`[${texts.join()}]`, ...texts])).toEqual([]);
});

test("64 levels of nesting come back, alone and in a batch", async () => {
  const lists = "[".repeat(64) + "]".repeat(64);
  const objects = `${'{"a":'.repeat(63)}{}${"}".repeat(63)}`;
  expect(await changes([lists, objects, objects, lists])).toEqual([]);
});

describe("in the database (C19)", () => {
  test.each([
    ["{}", "object"],
    ['{"a":1}', "object"],
    ["[]", "array"],
    ['"{}"', "string"],
    ["1", "number"],
    ["false", "boolean"],
    ["null", "null"],
  ])("%s is stored as a jsonb value of type %s, alone and in a batch", async (text, type) => {
    const ids = await createAll([text, text]);
    await world.qstash.deliverDue();
    const { rows } = await world.database.pg.query(
      `select jsonb_typeof(payload_json) as payload, jsonb_typeof(result_json) as result,
         jsonb_typeof(progress_json) as progress from jobs where id = any($1)`,
      [ids],
    );
    // A handler that returns null has no result.
    const result = type === "null" ? null : type;
    expect(rows).toEqual(ids.map(() => ({ payload: type, result, progress: type })));
  });

  test("operators and filters of jsonb work on payloads", async () => {
    const [id] = await createAll(['{"to":"ada@example.com","lines":[{"n":2}]}']);
    const { rows } = await world.database.pg.query(
      `select id, payload_json #>> '{lines,0,n}' as n from jobs
       where payload_json ->> 'to' = 'ada@example.com' and payload_json @> '{"lines":[{"n":2}]}'`,
    );
    expect(rows).toEqual([{ id, n: "2" }]);
  });
});

test("a corrected payload of a replay is kept as exactly", async () => {
  const [id] = await createAll(["1"]);
  await world.request("POST", `/api/jobs/${id}/cancel`);
  const text = '{"__proto__":{"a":"\\u00e9e\\u0301"},"n":[1e21,5e-324],"":null}';
  const rawBody = `{"payload":${text}}`;
  const replayed = await world.request("POST", `/api/jobs/${id}/replay`, { rawBody });
  expect(replayed.status).toBe(202);
  await world.qstash.deliverDue();
  const job = await world.job(id ?? "");
  for (const seen of [handed.get(id ?? ""), job.payload, job.result]) {
    expect(isDeepStrictEqual(seen, parseJson(text)), JSON.stringify(seen)).toBe(true);
  }
});

test.each([
  ["letters", "x", 262_000, 15],
  // Each layer that carries the text as a string escapes these again.
  ["quotes and backslashes", '\\"\\\\', 65_000, 4],
  ["characters of four bytes", "\u{1f600}", 65_000, 15],
])(
  "payloads as large as the limits allow are stored, made of %s",
  async (_, unit, times, count) => {
    const text = JSON.stringify(JSON.parse(`"${unit.repeat(times)}"`));
    const ids = await createAll(Array.from({ length: count + 1 }, () => text));
    const { rows } = await world.database.pg.query(
      "select count(*)::int from jobs where id = any($1) and payload_json = $2::jsonb",
      [ids, text],
    );
    expect(rows).toEqual([{ count: count + 1 }]);
  },
);
