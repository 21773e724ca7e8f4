import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { type AntreanError, createClient } from "../../src/client/client.js";
import { defineJob } from "../../src/core/define-job.js";
import { createWorld, KEYS, PUBLIC_URL, type World } from "../support/world.js";

let world: World;

/** Asks for its own cancellation, then for another job under its dedupe key. */
const own = defineJob({
  type: "test.own",
  payload: z.object({ lines: z.array(z.strictObject({ to: z.email() })) }),
  run: async ({ operationId }) => {
    await clientOf().cancel(operationId);
    ownFailure = await failureOf(enqueueOwn());
  },
});
let ownFailure: AntreanError | undefined;

beforeAll(async () => {
  world = await createWorld({ jobs: [own] });
});

afterAll(() => world.close());

function clientOf(apiKey: string = KEYS.acme) {
  const fetch = (request: Request) => world.instance.fetch(request);
  return createClient({ baseUrl: PUBLIC_URL, apiKey, fetch, retries: 0 });
}

const enqueueOwn = (options = { dedupeKey: "own" }) =>
  clientOf().enqueue("test.own", { lines: [] }, options);

function failureOf(work: Promise<unknown>): Promise<AntreanError> {
  return work.then(
    () => Promise.reject(new Error("The call did not fail.")),
    (error: AntreanError) => error,
  );
}

const UNKNOWN_ID = "00000000-0000-7000-8000-000000000000";

describe("what the API refuses arrives with its code", () => {
  test.each([
    ["a secret that nobody has", "wrong-secret-0000000", "unauthorized", 401],
    ["a key that may only read", KEYS.acmeReader, "forbidden", 403],
  ])("for %s", async (_, secret, code, status) => {
    const error = await failureOf(clientOf(secret).cancel(UNKNOWN_ID));
    expect(error).toMatchObject({ name: "AntreanError", code, status });
    expect(error.requestId).toMatch(/./);
  });

  test("for a job that is not there, or another tenant's", async () => {
    const { jobId } = await clientOf(KEYS.globex).enqueue("test.own", { lines: [] });
    for (const id of [jobId, UNKNOWN_ID, "no-id", "..", ""]) {
      expect(await failureOf(clientOf().get(id))).toMatchObject({ code: "not_found", status: 404 });
    }
  });

  test("for a payload that does not fit, with every place", async () => {
    const payload = { lines: [{ to: "ada@example.com" }, { to: "ada" }, { to: 1 }] };
    const error = await failureOf(clientOf().enqueue("test.own", payload));
    expect(error).toMatchObject({ code: "validation_failed", status: 422 });
    expect(error.errors.map(({ pointer }) => pointer)).toEqual([
      "#/payload/lines/1/to",
      "#/payload/lines/2/to",
    ]);
    expect(error.message).toContain("#/payload/lines/1/to");
  });

  test("for a type that is not registered, and a payload that is too large", async () => {
    const client = clientOf();
    const unknown = await failureOf(client.enqueue("test.gone", {}));
    expect(unknown).toMatchObject({ code: "unknown_job_type", status: 422 });
    const large = await failureOf(client.enqueue("test.own", "x".repeat(300_000)));
    expect(large).toMatchObject({ code: "payload_too_large", status: 413 });
  });

  test("for a key that stands for another request", async () => {
    const idempotencyKey = "order-17";
    await clientOf().enqueue("test.own", { lines: [] }, { idempotencyKey });
    const other = { idempotencyKey, priority: 1 };
    expect(await failureOf(clientOf().enqueue("test.own", { lines: [] }, other))).toMatchObject({
      code: "idempotency_key_reused",
      status: 409,
      idempotencyKey,
    });
  });

  test("for operations that the job's state forbids", async () => {
    const client = clientOf();
    const { jobId } = await client.enqueue("test.own", { lines: [] });
    expect(await failureOf(client.replay(jobId))).toMatchObject({ code: "job_not_replayable" });
    expect(await failureOf(client.runNow(jobId))).toMatchObject({ code: "job_not_waiting" });
    await client.cancel(jobId);
    expect(await failureOf(client.cancel(jobId))).toMatchObject({ code: "job_not_cancellable" });
  });

  test("for a replay whose dedupe key is taken, with the job that holds it", async () => {
    const client = clientOf();
    const first = await enqueueOwn({ dedupeKey: "taken" });
    await client.cancel(first.jobId);
    const second = await enqueueOwn({ dedupeKey: "taken" });
    expect(await failureOf(client.replay(first.jobId))).toMatchObject({
      code: "dedupe_conflict",
      activeJobId: second.jobId,
    });
  });

  test("for a dedupe key whose job is being cancelled, with the wait that the API asks for", async () => {
    await enqueueOwn();
    await world.qstash.deliverDue();
    expect(ownFailure).toMatchObject({
      code: "dedupe_job_cancelling",
      status: 409,
      retryAfterSeconds: 5,
    });
  });
});
