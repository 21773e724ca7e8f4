import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { AttemptReport } from "../../src/core/attempt.js";
import type { Json } from "../../src/core/job.js";
import { held, scripted, TYPE } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";
import { storeOver } from "../support/store.js";

const flow = setUpFlow();

const nested = (levels: number): Json =>
  Array.from({ length: levels }).reduce<Json>((inner) => [inner], 1);

/** What a handler may return although its type forbids it. */
const odd = (value: unknown): Json => value as Json;

const cyclic: Record<string, unknown> = {};
cyclic.self = cyclic;

const completedWith = (result: Json): AttemptReport => ({
  kind: "completed",
  result,
  resultOmitted: null,
});

async function resultOf(value: Json) {
  flow.start([scripted(() => value)]);
  const jobId = await flow.create(TYPE, {});
  expect(await flow.deliverOne()).toMatchObject({ status: 200 });
  return flow.job(jobId);
}

describe("a result that cannot be kept does not undo its job", () => {
  test.each([
    ["one byte too long", "x".repeat(65_535), "too_large"],
    ["too long in bytes, not in characters", "é".repeat(40_000), "too_large"],
    ["megabytes", "x".repeat(3_000_000), "too_large"],
    ["megabytes of backslashes", "\\".repeat(5_000_000), "too_large"],
    ["nested a thousand times too deep", nested(20_000), "too_deep"],
    ["one level too deep", nested(1001), "too_deep"],
    ["a bigint", odd({ n: 1n }), "not_json"],
    ["a cycle", odd(cyclic), "not_json"],
    ["a function", odd(() => 1), "not_json"],
    ["a symbol", odd(Symbol("x")), "not_json"],
    ["NUL in a text", { text: "a\u0000b" }, "not_json"],
    ["NUL in a name", { "a\u0000b": 1 }, "not_json"],
    ["a lone surrogate", "a\ud800", "not_json"],
    [
      "something that refuses to be written",
      odd({
        toJSON() {
          throw new Error("no");
        },
      }),
      "not_json",
    ],
  ])("%s", async (_, value, resultOmitted) => {
    expect(await resultOf(value)).toMatchObject({
      status: "completed",
      attempts: 1,
      result: null,
      resultOmitted,
    });
    expect(flow.logs).toContainEqual(
      expect.objectContaining({ event: "result_omitted", reason: resultOmitted }),
    );
  });
});

describe("what Postgres itself would refuse (control)", () => {
  const reports: [string, AttemptReport][] = [
    ["a result that is nested too deep", completedWith(nested(20_000))],
    ["a result with NUL", completedWith("\u0000")],
    ["an error with NUL", { kind: "fatal", code: "fatal", message: "a\u0000b" }],
  ];

  test.each(reports)("%s: the attempt could not be recorded at all", async (_, report) => {
    const work = held();
    flow.start([scripted(work.run)]);
    const jobId = await flow.create(TYPE, {});
    const delivery = flow.qstash.deliverDue();
    await work.started;
    const lockToken = String((await flow.row(jobId)).lock_token);
    const store = storeOver(flow.database);
    const finish = store.finish({ jobId, lockToken, attempt: 1, report, publish: true });
    await expect(finish).rejects.toMatchObject({ name: "StatementRefusedError" });
    work.release();
    await delivery;
    expect(await flow.job(jobId)).toMatchObject({ status: "completed" });
  });
});

describe("a result that can be kept comes back as it was", () => {
  test.each<[string, Json]>([
    ["as long as allowed", "x".repeat(65_534)],
    ["as deep as allowed", nested(1000)],
    ["null", null],
    ["false", false],
    ["zero", 0],
    ["an empty text", ""],
    ["text that looks like an escape", "\\u0000 \\ud800 \\\\u0000"],
    ["every plane", "é 日本 🚀 \u2028 \u0001"],
    ["numbers", [1e308, 5e-324, -1.5, 9007199254740991]],
    ["a member named __proto__", JSON.parse('{"__proto__":{"a":1},"constructor":2}') as Json],
  ])("%s", async (_, value) => {
    const job = await resultOf(value);
    expect(job).toMatchObject({ status: "completed", resultOmitted: null });
    expect(JSON.stringify(job.result)).toBe(JSON.stringify(value));
  });

  test("nothing at all is null", async () => {
    expect(await resultOf(odd(undefined))).toMatchObject({ result: null, resultOmitted: null });
  });

  test("what a handler's promise gives is awaited, also a promise of its own making", async () => {
    const thenable = odd({
      // biome-ignore lint/suspicious/noThenProperty: that is what is tested
      then: (resolve: (value: string) => void) => resolve("late"),
    });
    expect(await resultOf(thenable)).toMatchObject({ status: "completed", result: "late" });
  });
});

describe("progress", () => {
  test("is seen at once, replaced by the next, and kept at the end", async () => {
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const steps = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    flow.start([
      scripted(async ({ progress }) => {
        for (const n of [0, 1]) {
          await progress({ step: n });
          steps[n]?.resolve();
          await gates[n]?.promise;
        }
        return "done";
      }),
    ]);
    const jobId = await flow.create(TYPE, {});
    const delivery = flow.qstash.deliverDue();
    for (const n of [0, 1]) {
      await steps[n]?.promise;
      expect(await flow.job(jobId)).toMatchObject({ status: "processing", progress: { step: n } });
      gates[n]?.resolve();
    }
    await delivery;
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", progress: { step: 1 } });
  });

  test("renews the lease like a heartbeat", async () => {
    const step = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const instance = flow.start([
      scripted(async ({ progress }) => {
        await gate.promise;
        await progress(null);
        step.resolve();
        await new Promise<never>(() => {});
      }),
    ]);
    const jobId = await flow.create(TYPE, {});
    void flow.qstash.deliverDue().catch(() => {});
    await expect.poll(() => flow.job(jobId)).toMatchObject({ status: "processing" });
    const before = Date.parse((await flow.job(jobId)).lockedUntil ?? "");
    await flow.database.advance(10);
    gate.resolve();
    await step.promise;
    const after = Date.parse((await flow.job(jobId)).lockedUntil ?? "");
    expect(after - before).toBeGreaterThanOrEqual(10_000);
    expect(instance.ports.calls.filter(({ method }) => method === "heartbeat")).toHaveLength(1);
    expect(await flow.job(jobId)).toMatchObject({ progress: null });
  });

  test.each([
    ["too long", "x".repeat(16_385)],
    ["no JSON", odd(1n)],
    ["NUL", "\u0000"],
    ["too deep", nested(1001)],
  ])("that cannot be kept (%s) ends the job, for it is a mistake in its code", async (_, value) => {
    flow.start([scripted(async ({ progress }) => progress(value))]);
    const jobId = await flow.create(TYPE, {});
    await flow.qstash.deliverDue();
    expect(await flow.job(jobId)).toMatchObject({
      status: "dead_letter",
      progress: null,
      lastError: { code: "fatal" },
    });
  });

  test("that nobody waits for, and comes after the end, does not end the process", async () => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    onTestFinished(() => void process.off("unhandledRejection", unhandled));
    const after = Promise.withResolvers<() => void>();
    flow.start([
      scripted(({ progress, once }) => {
        after.resolve(() => {
          void progress(1);
          void once("late", () => 1);
        });
      }),
    ]);
    const jobId = await flow.create(TYPE, {});
    await flow.deliverOne();
    (await after.promise)();
    await flow.settled();
    expect(unhandled).not.toHaveBeenCalled();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", progress: null });
    expect(await flow.effects(jobId)).toEqual([]);
  });

  test("that the database does not take is an ordinary failure", async () => {
    const instance = flow.start([scripted(async ({ progress }) => progress(1))]);
    instance.ports.rule = ({ method }) => (method === "heartbeat" ? "fail" : undefined);
    const jobId = await flow.create(TYPE, {});
    await flow.qstash.deliverDue();
    expect(await flow.job(jobId)).toMatchObject({ status: "failed", attempts: 1 });
  });
});

test.each([
  ["a bigint", odd(1n), "not_json"],
  ["a cycle", odd(cyclic), "not_json"],
  ["megabytes", "x".repeat(3_000_000), "too_large"],
])(
  "a log line with fields that cannot be written (%s) says so and fails nothing",
  async (_, value, omitted) => {
    flow.start([scripted(({ log }) => log("step", { value }))]);
    const jobId = await flow.create(TYPE, {});
    await flow.deliverOne();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 1 });
    expect(flow.logs).toContainEqual(
      expect.objectContaining({ event: "handler_log", jobId, message: "step", fields: omitted }),
    );
  },
);
