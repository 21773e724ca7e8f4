/** Bodies for any schema of the OpenAPI document: mostly what it asks for, partly what nobody should. */

import fc from "fast-check";
import { DOCUMENT } from "./documented.js";

/** What we read of a JSON Schema. */
export interface Schema {
  $ref?: string;
  type?: string;
  format?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  minItems?: number;
  minimum?: number;
  maximum?: number;
}

/** Stands in a body for the id of a job that is there. */
export const JOB_PLACEHOLDER = /\$job:(\d+)/g;
const jobArb = fc.nat(999).map((at) => `$job:${at}`);

export const TYPES = ["fuzz.note", "fuzz.strict", "fuzz.fails", "http_request", "fuzz.gone"];
export const INSTANTS = [
  ...["2020-01-01T00:00:00Z", "2026-01-31T09:00:00.123456+07:30", "1970-01-01T00:00:00Z"],
  ...["9999-12-31T23:59:59Z", "2026-02-30T00:00:00Z", "0000-01-01T00:00:00Z", "now"],
];
const PAYLOADS: unknown[] = [
  ...[{ to: "Ana" }, { to: 1 }, null, [], "text", 0],
  { url: "https://target.example/hook", method: "POST", json: { a: 1 } },
  { url: "http://169.254.169.254/", headers: { Host: "a", "x-a": "b\r\nc" } },
];

/** Plausible values by the name of their member. */
const WORDS: Record<string, unknown[]> = {
  // Half of them take any payload.
  type: [...TYPES, ...Array.from(TYPES, () => "fuzz.note")],
  payload: PAYLOADS,
  cron: ["30 2 * * *", "*/5 * * * *", "0 0 30 2 *", "* * * * * *", "@daily", "61 * * * *", ""],
  timeZone: ["UTC", "Europe/Berlin", "Mars/Olympus", ""],
  dedupeKey: ["k1", "k2", "k3"],
  errorCode: ["fatal", "handler_error", "http_503"],
  reason: ["because", ""],
  runAt: INSTANTS.slice(0, 4),
};

/** Values that some layer between the socket and a column may not like. */
const HOSTILE: unknown[] = [
  ...["\0", "a\0b", "\ud800", "x\udc00", "\uffff", "💥", "'; drop table jobs; --", "%s%n", "\\"],
  ...["x".repeat(256), "é".repeat(3000), "__proto__", "constructor", "undefined", "null", " "],
  ...[-1, 0.1, 1e21, -1e308, 2 ** 53, 2_147_483_648, 5e-324, true, null, [], {}, [[[[]]]]],
  ...[{ "": "" }, { toString: 1 }, { "a\0": 1 }, [null, [null]], ["a", "a"]],
];

const hostileArb = fc.oneof(fc.constantFrom(...HOSTILE), fc.jsonValue({ maxDepth: 3 }));

/** Makes values for a schema; one in thirty members is hostile. */
export function valueFor(schema: Schema, name = ""): fc.Arbitrary<unknown> {
  const plausible = plausibleFor(schema, name);
  return fc.oneof({ arbitrary: plausible, weight: 30 }, { arbitrary: hostileArb, weight: 1 });
}

function plausibleFor(schema: Schema, name: string): fc.Arbitrary<unknown> {
  if (schema.$ref) return plausibleFor(resolve(schema.$ref), name);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return fc.oneof(...choices.map((each) => plausibleFor(each, name)));
  if ("const" in schema) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const words = WORDS[name];
  if (words) return fc.constantFrom(...words);
  if (schema.format === "date-time") return fc.constantFrom(...INSTANTS);
  switch (schema.type) {
    case "object":
      return objectFor(schema);
    case "array":
      return fc.array(valueFor(schema.items ?? {}), { minLength: schema.minItems, maxLength: 4 });
    case "integer":
    case "number":
      return fc.integer({ min: schema.minimum ?? -5, max: Math.min(schema.maximum ?? 5, 5000) });
    case "boolean":
      return fc.boolean();
    case "string":
      return fc.oneof(fc.constantFrom("a", "a-b", "s1", "s2", "s3"), fc.string({ maxLength: 12 }));
    default:
      return fc.oneof(jobArb, fc.jsonValue({ maxDepth: 2 }));
  }
}

/** Members that are not required are there in half of all cases, an unknown one in a few. */
function objectFor({ properties = {}, required = [] }: Schema): fc.Arbitrary<unknown> {
  const members = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, valueFor(schema, name)]),
  );
  const fitting = fc
    .record(members, { requiredKeys: required })
    // These two exclude each other.
    .map(({ delaySeconds, ...rest }) => ("runAt" in rest ? rest : { delaySeconds, ...rest }));
  const odd = fc.record(members, { requiredKeys: [] });
  const extended = fc
    .tuple(fitting, fc.constantFrom("id", "tenant", "status", "__proto__", ""), hostileArb)
    .map(([value, name, more]) => Object.assign(Object.create(null), value, { [name]: more }));
  return fc.oneof(
    { arbitrary: fitting, weight: 12 },
    { arbitrary: odd, weight: 1 },
    { arbitrary: extended, weight: 1 },
  );
}

/** Messages as QStash delivers them. */
export const messageArb = fc.record(
  {
    v: fc.constantFrom(1, 1, 1, 1, 2),
    jobId: fc.oneof({ arbitrary: jobArb, weight: 8 }, fc.uuid(), hostileArb),
    type: fc.oneof({ arbitrary: fc.constantFrom(...TYPES), weight: 8 }, hostileArb),
    seq: fc.oneof({ arbitrary: fc.integer({ min: 0, max: 6 }), weight: 8 }, hostileArb),
  },
  { requiredKeys: ["jobId", "type", "seq"] },
);

const SNIPPETS = [
  ...['"', "}", "]", ",", "NaN", "\ufeff", "\\u0000", "\\ud800", "1e999", "9007199254740993"],
  ...['"a":1,"a":2,', "/**/", "\u2028", "\r\n", "-0", "[".repeat(5000), '{"a":'.repeat(200)],
];

/** Writes a value as a body, which is damaged in one of nine cases. */
export function bodyOf(valueArb: fc.Arbitrary<unknown>): fc.Arbitrary<string | Uint8Array> {
  const text = valueArb.map((value) => JSON.stringify(value) ?? "");
  const at = fc.double({ min: 0, max: 1, noNaN: true });
  const cut = fc.tuple(text, at).map(([all, part]) => all.slice(0, Math.floor(all.length * part)));
  const mixed = fc.tuple(text, at, fc.constantFrom(...SNIPPETS)).map(([all, part, more]) => {
    const place = Math.floor(all.length * part);
    return all.slice(0, place) + more + all.slice(place);
  });
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    text.map((all) => Uint8Array.from([...new TextEncoder().encode(all), 0xff])),
  );
  return fc.oneof(
    { arbitrary: text, weight: 40 },
    { arbitrary: cut, weight: 1 },
    { arbitrary: mixed, weight: 2 },
    { arbitrary: bytes, weight: 1 },
    { arbitrary: fc.constantFrom("", " ", "null", "[]", '""', "0"), weight: 1 },
  );
}

function resolve(reference: string): Schema {
  return DOCUMENT.components.schemas[reference.split("/").at(-1) ?? ""] as Schema;
}
