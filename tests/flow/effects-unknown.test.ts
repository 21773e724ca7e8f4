import { describe, expect, test } from "vitest";
import type { Json } from "../../src/core/define-job.js";
import {
  byAttempt,
  type Context,
  type Handler,
  held,
  scripted,
  TYPE,
} from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";
import { KEYS } from "../support/world.js";

const flow = setUpFlow();

/** An effect that breaks off the first time, so that nobody knows whether it happened. */
function breaking(ifUnknown: "run" | "dead_letter" | undefined, value: unknown = new Error("cut")) {
  const operationIds: string[] = [];
  const job = scripted(({ once, attempt }) =>
    once(
      "charge",
      (effect) => {
        operationIds.push(effect.operationId);
        if (attempt === 1) throw value;
        return "second";
      },
      { ifUnknown },
    ),
  );
  return { operationIds, job };
}

async function settle(
  jobId: string,
  body: unknown,
  options: { secret?: string; name?: string } = {},
) {
  const path = `/api/jobs/${jobId}/effects/${options.name ?? "charge"}/settle`;
  const response = await flow.request("POST", path, { body, secret: options.secret });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const replay = (jobId: string) => flow.request("POST", `/api/jobs/${jobId}/replay`);

/** A job that ended because nobody knows of its effect. */
async function unsettled() {
  const { operationIds, job } = breaking("dead_letter");
  flow.start([job]);
  const jobId = await flow.create(TYPE, {});
  await flow.runUntilIdle();
  return { operationIds, jobId };
}

describe("an effect of which nobody knows the end", () => {
  test.each([
    ["an error", new Error("socket closed")],
    ["the status 500", { status: 500 }],
    ["the status 302", { status: 302 }],
    ["a status that is none", { status: "429" }],
    ["undefined", undefined],
    ["null", null],
    ["a text", "boom"],
  ])("after %s is run again where its downstream honours the id", async (_, value) => {
    const { operationIds, job } = breaking(undefined, value);
    flow.start([job]);
    const jobId = await flow.create(TYPE, {});
    await flow.qstash.deliverDue();
    expect(await flow.effects(jobId)).toMatchObject([{ state: "started", finished_at: null }]);
    await flow.runUntilIdle();
    expect(operationIds).toEqual([`${jobId}:charge`, `${jobId}:charge`]);
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", result: "second" });
  });

  test("is not run again where that could charge twice: the job waits for a human", async () => {
    const { operationIds, jobId } = await unsettled();
    expect(operationIds).toHaveLength(1);
    expect(await flow.job(jobId)).toMatchObject({
      status: "dead_letter",
      attempts: 2,
      attemptsLeft: 6,
      lastError: { code: "effect_unknown", retryable: false },
    });
    expect((await flow.job(jobId)).lastError?.message).toContain('"charge"');
    // Replayed unsettled, it ends the same way.
    expect((await replay(jobId)).status).toBe(202);
    await flow.runUntilIdle();
    expect(operationIds).toHaveLength(1);
    expect(await flow.job(jobId)).toMatchObject({ status: "dead_letter", attempts: 3 });
  });

  test("because its record could not be written is one, too", async () => {
    const ran: number[] = [];
    const instance = flow.start([
      scripted(({ once }) => once("charge", () => void ran.push(1), { ifUnknown: "dead_letter" })),
    ]);
    instance.ports.rule = ({ method }) => (method === "endEffect" ? "fail" : undefined);
    const jobId = await flow.create(TYPE, {});
    await flow.runUntilIdle();
    expect(ran).toEqual([1]);
    expect(await flow.job(jobId)).toMatchObject({ lastError: { code: "effect_unknown" } });
  });

  test("whose record's answer was lost is done, not unknown", async () => {
    const ran: number[] = [];
    const instance = flow.start([
      scripted(({ once }) => once("charge", () => ran.push(1), { ifUnknown: "dead_letter" })),
    ]);
    instance.ports.rule = ({ method }) => (method === "endEffect" ? "cut" : undefined);
    const jobId = await flow.create(TYPE, {});
    await flow.runUntilIdle();
    expect(ran).toEqual([1]);
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 2, result: 1 });
  });

  test("whose start could not be recorded did not begin", async () => {
    const ran: number[] = [];
    const instance = flow.start([
      scripted(({ once }) => once("charge", () => ran.push(1), { ifUnknown: "dead_letter" })),
    ]);
    let failures = 1;
    instance.ports.rule = ({ method }) => {
      if (method !== "beginEffect" || failures === 0) return undefined;
      failures -= 1;
      return "fail";
    };
    const jobId = await flow.create(TYPE, {});
    await flow.qstash.deliverDue();
    expect(ran).toEqual([]);
    await flow.runUntilIdle();
    expect(ran).toEqual([1]);
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 2 });
  });
});

describe("settling an effect", () => {
  test("as done: the replay gets the result that was settled and does not run it", async () => {
    const { operationIds, jobId } = await unsettled();
    const body = { outcome: "done", result: { receipt: "r-7" }, reason: "found at the bank" };
    expect(await settle(jobId, body)).toMatchObject({
      status: 200,
      body: { jobId, effect: "charge", outcome: "done" },
    });
    expect((await replay(jobId)).status).toBe(202);
    await flow.runUntilIdle();
    expect(operationIds).toHaveLength(1);
    expect(await flow.job(jobId)).toMatchObject({
      status: "completed",
      result: { receipt: "r-7" },
    });
    expect(await flow.effects(jobId)).toMatchObject([{ state: "done", settled_by: "acme" }]);
    const [event] = (await flow.events(jobId)).filter(({ kind }) => kind === "settled");
    expect(event?.data).toEqual({
      by: "acme",
      reason: "found at the bank",
      effect: "charge",
      outcome: "done",
    });
  });

  test("as not done: the replay runs it, under the same id", async () => {
    const { operationIds, jobId } = await unsettled();
    expect(await settle(jobId, { outcome: "not_done", reason: "no trace" })).toMatchObject({
      status: 200,
    });
    await replay(jobId);
    await flow.runUntilIdle();
    expect(operationIds).toEqual([`${jobId}:charge`, `${jobId}:charge`]);
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", result: "second" });
  });

  test.each<[string, unknown]>([
    ["without a reason", { outcome: "not_done" }],
    ["with a blank reason", { outcome: "not_done", reason: " " }],
    ["with an outcome of its own", { outcome: "maybe", reason: "x" }],
    ["with a result although it is not done", { outcome: "not_done", result: 1, reason: "x" }],
    [
      "with a result that is too large",
      { outcome: "done", result: "x".repeat(65_536), reason: "x" },
    ],
  ])("%s is refused", async (_, body) => {
    const { jobId } = await unsettled();
    expect(await settle(jobId, body)).toMatchObject({ status: 422 });
    expect(await flow.effects(jobId)).toMatchObject([{ state: "started" }]);
  });

  test("that is known, settled or unheard of is refused and changes nothing", async () => {
    const { jobId } = await unsettled();
    const done = { outcome: "done", reason: "x" };
    expect(await settle(jobId, done, { name: "other" })).toMatchObject({ status: 404 });
    expect(await settle(jobId, done, { secret: KEYS.globex })).toMatchObject({ status: 404 });
    expect((await settle(jobId, done)).status).toBe(200);
    const before = await flow.effects(jobId);
    for (const body of [done, { outcome: "not_done", reason: "y" }]) {
      expect(await settle(jobId, body)).toMatchObject({
        status: 409,
        body: { code: "effect_not_unknown" },
      });
    }
    expect(await flow.effects(jobId)).toEqual(before);
    expect((await flow.events(jobId)).filter(({ kind }) => kind === "settled")).toHaveLength(1);
  });

  test("that runs at this moment is refused; once its attempt is over it can be settled", async () => {
    const gate = held();
    flow.start([
      scripted(({ once }) => once("charge", () => gate.run({} as Context) as Promise<Json>), {
        maxAttempts: 1,
      }),
    ]);
    const jobId = await flow.create(TYPE, {});
    const delivery = flow.qstash.deliverDue();
    await gate.started;
    const body = { outcome: "done", reason: "x" };
    expect(await settle(jobId, body)).toMatchObject({ status: 409 });
    gate.fail(new Error("cut"));
    await delivery;
    expect((await settle(jobId, body)).status).toBe(200);
  });

  test("with a lost answer is one settlement", async () => {
    const { jobId } = await unsettled();
    flow.database.neon.setFault({ action: "lose-answer", nth: 1 });
    expect((await settle(jobId, { outcome: "done", reason: "x" })).status).toBe(200);
    expect((await flow.events(jobId)).filter(({ kind }) => kind === "settled")).toHaveLength(1);
  });
});

describe("the evidence of an effect", () => {
  const traces = (...values: Json[]): Handler =>
    byAttempt(({ once }) =>
      once("call", ({ trace }) => {
        for (const value of values) trace(value);
        return "ok";
      }),
    );

  test.each<[string, Json[], Json]>([
    ["is kept with it", [{ status: 200, answer: "ok" }], { status: 200, answer: "ok" }],
    ["is the last that was given", [1, 2, 3], 3],
    ["may be as long as 4 KiB", ["x".repeat(4094)], "x".repeat(4094)],
    ["is left out when longer, saying so", ["x".repeat(4095)], { omitted: "too_large" }],
    ["is left out when it is no JSON", [1n as unknown as Json], { omitted: "not_json" }],
    ["is left out when it cannot be stored", ["\u0000"], { omitted: "not_json" }],
    ["may be missing", [], null],
  ])("%s", async (_, given, kept) => {
    flow.start([scripted(traces(...given))]);
    const jobId = await flow.create(TYPE, {});
    await flow.qstash.deliverDue();
    expect(await flow.job(jobId)).toMatchObject({ status: "completed" });
    expect(await flow.effects(jobId)).toMatchObject([{ state: "done", trace_json: kept }]);
  });

  test.each([
    ["unknown", new Error("cut"), "started"],
    ["not done", { status: 429 }, "not_done"],
  ])("is kept of an end that is %s, for whoever settles it", async (_, value, state) => {
    flow.start([
      scripted(({ once }) =>
        once("call", ({ trace }) => {
          trace({ status: 504 });
          throw value;
        }),
      ),
    ]);
    const jobId = await flow.create(TYPE, {});
    await flow.qstash.deliverDue();
    expect(await flow.effects(jobId)).toMatchObject([{ state, trace_json: { status: 504 } }]);
  });
});
