import { describe, expect, test } from "vitest";
import { FatalError, type Json, RetryAfterError } from "../../src/core/define-job.js";
import { sendAgain } from "../support/flow-delivery.js";
import { type Context, type Handler, held, scripted, TYPE } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";
import { storeOver } from "../support/store.js";

const flow = setUpFlow();

type Effect = Parameters<Context["once"]>[1];
type Options = Parameters<Context["once"]>[2];

/** Attempt n runs the effect "charge" as its n-th script says; every run is counted. */
function charging(scripts: Effect[], after: Handler[] = [], options?: Options) {
  const operationIds: string[] = [];
  const got: unknown[] = [];
  const job = scripted(async (context) => {
    const script = scripts[context.attempt - 1] ?? scripts.at(-1);
    const result = await context.once(
      "charge",
      (effect) => {
        operationIds.push(effect.operationId);
        return script?.(effect);
      },
      options,
    );
    got.push(result);
    return (await after[context.attempt - 1]?.(context)) ?? "paid";
  });
  return { operationIds, got, job };
}

const raises =
  (value: unknown): (() => never) =>
  () => {
    throw value;
  };
const ends = (...results: Json[]): Effect[] => results.map((result) => () => result);

async function oneAttempt(): Promise<void> {
  await flow.qstash.deliverDue();
  const [message] = flow.qstash.pending();
  if (message) await flow.advance(Math.max(0, message.dueAt - flow.qstash.now()) / 1000);
}

describe("an effect that is done", () => {
  test("is not run again by later attempts, which get its stored result", async () => {
    const { operationIds, got, job } = charging(ends({ receipt: 1 }), [
      raises("no"),
      raises(new RetryAfterError(5)),
      ({ snooze }) => snooze(1),
    ]);
    flow.start([job]);
    const jobId = await flow.create(TYPE, {});
    for (let n = 0; n < 4; n += 1) await oneAttempt();
    expect(operationIds).toEqual([`${jobId}:charge`]);
    expect(got).toEqual([{ receipt: 1 }, { receipt: 1 }, { receipt: 1 }, { receipt: 1 }]);
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 4 });
    expect(await flow.effects(jobId)).toMatchObject([
      { name: "charge", state: "done", result_json: { receipt: 1 }, settled_by: null },
    ]);
  });

  test.each<[string, Json]>([
    ["null", null],
    ["false", false],
    ["zero", 0],
    ["an empty text", ""],
    ["a list", []],
    ["other letters", "é 🚀"],
  ])("with the result %s is done as well", async (_, result) => {
    const { operationIds, got, job } = charging(ends(result), [raises("no")]);
    flow.start([job]);
    await flow.create(TYPE, {});
    for (let n = 0; n < 2; n += 1) await oneAttempt();
    expect(operationIds).toHaveLength(1);
    expect(got).toEqual([result, result]);
  });

  test("without a result gives later attempts null", async () => {
    const { got, job } = charging([() => undefined], [raises("no")]);
    flow.start([job]);
    await flow.create(TYPE, {});
    for (let n = 0; n < 2; n += 1) await oneAttempt();
    expect(got).toEqual([undefined, null]);
  });

  test.each([
    ["longer than 64 KiB", "x".repeat(70_000), "too_large"],
    ["no JSON", 1n as unknown as Json, "not_json"],
  ])(
    "with a result %s stays done, its result is not kept, and the log says so",
    async (_, result, reason) => {
      const { operationIds, got, job } = charging(ends(result), [raises("no")]);
      flow.start([job]);
      const jobId = await flow.create(TYPE, {});
      for (let n = 0; n < 2; n += 1) await oneAttempt();
      expect(operationIds).toHaveLength(1);
      expect(got).toEqual([result, null]);
      expect(await flow.effects(jobId)).toMatchObject([{ state: "done", result_json: null }]);
      expect(flow.logs).toContainEqual(
        expect.objectContaining({ event: "result_omitted", effect: "charge", reason }),
      );
    },
  );

  test("stays done over a replay", async () => {
    const { operationIds, job } = charging(ends("r1"), [raises({ status: 404 })]);
    flow.start([job]);
    const jobId = await flow.create(TYPE, {});
    await oneAttempt();
    expect(await flow.job(jobId)).toMatchObject({ status: "dead_letter" });
    await flow.request("POST", `/api/jobs/${jobId}/replay`);
    await oneAttempt();
    expect(operationIds).toHaveLength(1);
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 2 });
  });

  test("is another one under another name or in another job", async () => {
    const ran: string[] = [];
    flow.start([
      scripted(async ({ once }) => {
        for (const name of ["a", "A", "a.b", "a-b", "a_b", "0", "x".repeat(100)]) {
          await once(name, ({ operationId }) => void ran.push(operationId));
        }
      }),
    ]);
    await flow.create(TYPE, 1);
    await flow.create(TYPE, 2);
    await flow.qstash.deliverDue();
    expect(new Set(ran).size).toBe(14);
  });
});

describe("an effect that is known not to have happened is run again", () => {
  test.each([
    ["a wish to come later", new RetryAfterError(1)],
    ["the status 429", { status: 429 }],
    ["the status 409 of an error", Object.assign(new Error("conflict"), { statusCode: 409 })],
    ["the status 401 of a response", { response: { status: 401 } }],
  ])("after %s", async (_, value) => {
    const { operationIds, job } = charging([raises(value), () => "paid"], [], {
      ifUnknown: "dead_letter",
    });
    flow.start([job]);
    const jobId = await flow.create(TYPE, {});
    await oneAttempt();
    expect(await flow.effects(jobId)).toMatchObject([{ state: "not_done" }]);
    await oneAttempt();
    expect(operationIds).toEqual([`${jobId}:charge`, `${jobId}:charge`]);
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", attempts: 2 });
    expect(await flow.effects(jobId)).toMatchObject([{ state: "done", result_json: "paid" }]);
  });

  test.each([
    ["a fatal error", new FatalError("refused")],
    ["the status 400", { status: 400 }],
    ["the status 422", { status: 422 }],
  ])("after %s, once its dead letter was replayed", async (_, value) => {
    const { operationIds, job } = charging([raises(value), () => "paid"], [], {
      ifUnknown: "dead_letter",
    });
    flow.start([job]);
    const jobId = await flow.create(TYPE, {});
    await oneAttempt();
    expect(await flow.job(jobId)).toMatchObject({ status: "dead_letter" });
    expect(await flow.effects(jobId)).toMatchObject([{ state: "not_done" }]);
    await flow.request("POST", `/api/jobs/${jobId}/replay`);
    await oneAttempt();
    expect(operationIds).toHaveLength(2);
    expect(await flow.job(jobId)).toMatchObject({ status: "completed" });
  });
});

describe("the same effect twice in one attempt", () => {
  test.each([
    [
      "one after the other",
      async (once: Context["once"]) => {
        await once("charge", () => 1);
        await once("charge", () => 2);
      },
    ],
    [
      "side by side",
      async (once: Context["once"]) => {
        await Promise.all([once("charge", () => 1), (async () => once("charge", () => 2))()]);
      },
    ],
    [
      "after the first one failed",
      async (once: Context["once"]) => {
        await once("charge", raises({ status: 429 })).catch(() => {});
        await once("charge", () => 2);
      },
    ],
  ])("%s is a mistake that ends the job", async (_, run) => {
    flow.start([scripted(({ once }) => run(once))]);
    const jobId = await flow.create(TYPE, {});
    await flow.qstash.deliverDue();
    expect(await flow.job(jobId)).toMatchObject({
      status: "dead_letter",
      attempts: 1,
      lastError: { code: "fatal", message: expect.stringContaining("started twice") },
    });
  });

  test("would run twice by the ledger alone, which takes it for a repeated call (control)", async () => {
    const gate = held();
    flow.start([scripted(gate.run)]);
    const jobId = await flow.create(TYPE, {});
    const delivery = flow.qstash.deliverDue();
    await gate.started;
    const ref = { jobId, lockToken: String((await flow.row(jobId)).lock_token), name: "charge" };
    const store = storeOver(flow.database);
    for (let n = 0; n < 2; n += 1) {
      expect(await store.beginEffect(ref, false)).toEqual({ kind: "run" });
    }
    gate.release();
    await delivery;
  });

  test.each(["", "a b", "a/b", "a:b", "é", "x".repeat(101), "a\u0000"])(
    "a name such as %j is one as well",
    async (name) => {
      flow.start([scripted(async ({ once }) => once(name, () => 1))]);
      const jobId = await flow.create(TYPE, {});
      await flow.qstash.deliverDue();
      expect(await flow.job(jobId)).toMatchObject({
        status: "dead_letter",
        lastError: { code: "fatal" },
      });
      expect(await flow.effects(jobId)).toEqual([]);
    },
  );
});

describe("an effect of an attempt that lost its lease", () => {
  test("whose end is known late is kept: the newer attempt does not run it", async () => {
    const gate = held();
    const charged: string[] = [];
    const script = scripted(
      async ({ once, attempt }) => {
        return once("charge", async (effect) => {
          charged.push(effect.operationId);
          if (attempt === 1) await gate.run({} as Context);
          return "receipt";
        });
      },
      { leaseSeconds: 60, timeoutSeconds: 600, backoff: { baseSeconds: 30 } },
    );
    const first = flow.start([script]);
    first.ports.rule = ({ method }) => (method === "heartbeat" ? "fail" : undefined);
    const jobId = await flow.create(TYPE, {});
    const delivery = flow.qstash.deliverDue();
    await gate.started;
    await flow.advance(61);
    await flow.sweep(flow.start([script]));
    expect(await flow.job(jobId)).toMatchObject({ status: "failed" });
    gate.release();
    await delivery;
    expect(await flow.effects(jobId)).toMatchObject([{ state: "done", result_json: "receipt" }]);
    await flow.runUntilIdle();
    expect(charged).toHaveLength(1);
    expect(await flow.job(jobId)).toMatchObject({
      status: "completed",
      attempts: 2,
      result: "receipt",
    });
  });

  test("that a newer attempt has started since is the newer one's: the late end is not taken", async () => {
    const gates = [held(), held()];
    const script = scripted(
      ({ once, attempt }) =>
        once("charge", async () => {
          await gates[attempt - 1]?.run({} as Context);
          return `receipt ${attempt}`;
        }),
      { leaseSeconds: 60, timeoutSeconds: 600 },
    );
    const first = flow.start([script]);
    first.ports.rule = ({ method }) => (method === "heartbeat" ? "fail" : undefined);
    const jobId = await flow.create(TYPE, {});
    const lost = flow.qstash.deliverDue();
    await gates[0]?.started;
    await flow.advance(61);
    flow.start([script]);
    const taken = sendAgain(flow, first.captured[0]);
    await gates[1]?.started;
    gates[0]?.release();
    await lost;
    expect(await flow.effects(jobId)).toMatchObject([{ state: "started", result_json: null }]);
    gates[1]?.release();
    await taken;
    expect(await flow.effects(jobId)).toMatchObject([{ state: "done", result_json: "receipt 2" }]);
    expect(await flow.job(jobId)).toMatchObject({ status: "completed", result: "receipt 2" });
  });
});
