import { expect, test } from "vitest";
import * as z from "zod";
import { scripted, succeed, TYPE, throws } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";

const flow = setUpFlow();
const odd = (more: object) => Object.assign(new Error("x"), more);

test.each([
  ["message number", odd({ message: 42 })],
  ["message object", odd({ message: { a: 1 } })],
  ["message undefined name number", Object.assign(new Error(""), { name: 7 })],
  ["empty message name empty", Object.assign(new Error(""), { name: "" })],
  ["retryAfter symbol", odd({ name: "RetryAfterError", retryAfter: Symbol("x") })],
  ["retryAfter valueOf", odd({ name: "RetryAfterError", retryAfter: { valueOf() { throw new Error("v"); } } })],
  ["retryAfter date string", odd({ name: "RetryAfterError", retryAfter: new Date(Date.now() + 120000).toUTCString() })],
  ["toJSON number", { toJSON: () => 5 }],
  ["string object", new String("abc")],
])("%s", async (_, value) => {
  flow.start([scripted(throws(value))]);
  const jobId = await flow.create(TYPE, {});
  const r = await flow.deliverOne();
  const j = await flow.job(jobId);
  console.log(_, r.status, j.status, j.lastError, j.nextRunAt);
});

test.each([
  ["NUL in schema message", z.unknown().refine(() => false, "bad\u0000")],
  ["surrogate", z.unknown().refine(() => false, "x".repeat(1958)+"🚀🚀🚀🚀🚀🚀🚀")],
  ["surrogate2", z.unknown().refine(() => false, "x".repeat(1959)+"🚀🚀🚀🚀🚀🚀🚀")],
  ["throwing schema", z.unknown().refine(() => { throw new Error("schema"); })],
  ["throwing transform", z.unknown().transform(() => JSON.parse("{"))],
])("schema %s", async (_, schema) => {
  flow.start([scripted(succeed())]);
  const jobId = await flow.create(TYPE, {});
  flow.start([scripted(succeed(), { payload: schema })]);
  const r = await flow.deliverOne();
  const j = await flow.job(jobId);
  console.log(_, r.status, r.body, j.status, j.lastError?.code, j.lastError?.message.slice(-12), await flow.query("select lock_token from jobs"));
});

const nest = (n: number) => { let v: unknown = 1; for (let i = 0; i < n; i++) v = [v]; return v as never; };
test.each([
  ["nest 100", nest(100)],
  ["nest 1000", nest(1000)],
  ["nest 3000", nest(3000)],
  ["nest 6000", nest(6000)],
  ["nest 9000", nest(9000)],
  ["nest 20000", nest(20000)],
  ["nan", { a: NaN, b: Infinity, c: undefined, d: () => 1, e: new Date(0), f: new Map([[1, 2]]) } as never],
  ["1e308", [1e308, -0, 5e-324, 123456789012345680000] as never],
  ["proto", JSON.parse('{"__proto__":{"a":1}}') as never],
])("result %s", async (_, value) => {
  flow.start([scripted(succeed(value))]);
  const jobId = await flow.create(TYPE, {});
  const r = await flow.deliverOne();
  const j = await flow.query("select status, result_omitted, left(result_json::text, 200) as result from jobs");
  console.log(_, process.version, r.status, j, r.body);
});
test("hugekeys", () => { expect(1).toBe(1); });
