import { expect, test } from "vitest";
import * as z from "zod";
import { checkEffectName, defineJob } from "../../src/core/define-job.js";

const base = { type: "t", payload: z.unknown(), run: () => {} };

test("a type without settings gets the documented defaults", () => {
  expect(defineJob(base)).toMatchObject({
    maxAttempts: 8,
    timeoutSeconds: 60,
    leaseSeconds: 90,
    backoff: { baseSeconds: 30, maxSeconds: 3600, jitterSeconds: 15 },
    dedupeUntil: "finished",
    runsOn: "qstash",
  });
});

test("the lease outlives the time limit by default, and is never below a minute", () => {
  expect(defineJob({ ...base, timeoutSeconds: 5 }).leaseSeconds).toBe(60);
  expect(defineJob({ ...base, timeoutSeconds: 300 }).leaseSeconds).toBe(330);
});

test.each([
  ["a name with a capital", { type: "Send" }, /must match/],
  ["a name of 64 characters", { type: "a".repeat(64) }, /must match/],
  ["no attempt", { maxAttempts: 0 }, /maxAttempts/],
  ["51 attempts", { maxAttempts: 51 }, /maxAttempts/],
  ["half a second", { timeoutSeconds: 0.5 }, /timeoutSeconds/],
  ["a lease of 4 s", { leaseSeconds: 4 }, /leaseSeconds/],
  ["a lease of 961 s", { leaseSeconds: 961 }, /leaseSeconds/],
  ["a base below 1 s", { backoff: { baseSeconds: 0 } }, /baseSeconds/],
  ["negative jitter", { backoff: { jitterSeconds: -1 } }, /jitterSeconds/],
  ["no parallelism", { flowControl: { parallelism: 0 } }, /flowControl.parallelism/],
  ["half a message", { flowControl: { rate: 0.5 } }, /flowControl.rate/],
  ["a period of 0 s", { flowControl: { rate: 1, periodSeconds: 0 } }, /flowControl.periodSeconds/],
  ["over a week", { flowControl: { rate: 1, periodSeconds: 604_801 } }, /at most 604800/],
  ["a period of nothing", { flowControl: { periodSeconds: 60 } }, /parallelism or rate/],
  ["a wait that is no number", { backoff: { maxSeconds: Number.NaN } }, /maxSeconds/],
])("%s is refused at start-up, naming type and setting", (_, options, message) => {
  expect(() => defineJob({ ...base, ...options })).toThrow(message);
});

test("effect names are what a path and a downstream key can carry", () => {
  for (const name of ["a", "charge.card-1_x", "A".repeat(100)])
    expect(() => checkEffectName(name)).not.toThrow();
  for (const name of ["", "a b", "a/b", "ä", "A".repeat(101)])
    expect(() => checkEffectName(name)).toThrow(/must match/);
});
