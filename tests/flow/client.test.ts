import { describe, expect, test } from "vitest";
import * as z from "zod";
import { type ClientOptions, createClient } from "../../src/client/client.js";
import { defineJob, FatalError } from "../../src/core/define-job.js";
import { KEYS, PUBLIC_URL, type World, worldForTest } from "../support/world.js";

const greet = defineJob({
  type: "test.greet",
  payload: z.strictObject({ to: z.string().min(1) }),
  run: ({ payload }) => {
    if (payload.to === "nobody") throw new FatalError("nobody is there");
    return `Hello ${payload.to}`;
  },
});
interface Jobs {
  "test.greet": typeof greet;
}

/** What happens to one request: it never arrives, or its answer is lost. */
type Fault = "fault" | "lost" | undefined;

/** A client of the world; its requests meet the faults in turn. */
function clientOf(world: World, faults: Fault[] = [], options: Partial<ClientOptions> = {}) {
  return createClient<Jobs>({
    baseUrl: PUBLIC_URL,
    apiKey: KEYS.acme,
    async fetch(request) {
      const fault = faults.shift();
      if (fault === "fault") throw new TypeError("fetch failed");
      const response = await world.instance.fetch(request);
      if (fault === "lost") throw new TypeError("terminated");
      return response;
    },
    // Waits pass at once; the limits of tries last until they are called off.
    sleep: async (milliseconds, signal) => {
      if (milliseconds < 30_000) return;
      await new Promise((resolve) => signal?.addEventListener("abort", resolve));
    },
    ...options,
  });
}

const newWorld = () => worldForTest({ jobs: [greet] });

async function countJobs(world: World): Promise<number> {
  const { rows } = await world.database.pg.query("select count(*)::int as count from jobs");
  return (rows[0] as { count: number }).count;
}

describe("creating", () => {
  test("a job, and waiting for its result", async () => {
    const world = await newWorld();
    const client = clientOf(world);
    const accepted = await client.enqueue("test.greet", { to: "Ada" }, { priority: 7 });
    expect(accepted).toEqual({
      jobId: expect.any(String),
      status: "queued",
      deduplicated: false,
      statusUrl: `${PUBLIC_URL}/api/jobs/${accepted.jobId}`,
    });
    await world.qstash.deliverDue();
    expect(await client.waitFor(accepted.jobId)).toMatchObject({
      id: accepted.jobId,
      type: "test.greet",
      status: "completed",
      priority: 7,
      result: "Hello Ada",
    });
  });

  test.each([
    ["answers that are lost", ["lost", "lost"]],
    ["requests that are lost", ["fault", "fault"]],
    ["both", ["fault", "lost", "fault", "lost"]],
  ] as [string, Fault[]][])("makes one job in spite of %s", async (_, faults) => {
    const world = await newWorld();
    const { jobId } = await clientOf(world, [...faults]).enqueue("test.greet", { to: "Ada" });
    expect(await countJobs(world)).toBe(1);
    expect((await world.job(jobId)).status).toBe("queued");
  });

  test("makes one job when the database fails before and after it committed", async () => {
    const world = await newWorld();
    world.instance.ports.rule = ({ number }) => ([undefined, "fail", "cut"] as const)[number];
    await clientOf(world).enqueue("test.greet", { to: "Ada" });
    expect(await countJobs(world)).toBe(1);
    const answers = world.logs.filter(({ event }) => event === "request_handled");
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 202]);
  });

  test("can go on after it failed: its error has the key, and nothing is made twice", async () => {
    const world = await newWorld();
    const failure: unknown = await clientOf(world, ["lost", "lost"], { retries: 1 })
      .enqueue("test.greet", { to: "Ada" })
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "network_error", tries: 2 });
    const { idempotencyKey } = failure as { idempotencyKey: string };
    await clientOf(world).enqueue("test.greet", { to: "Ada" }, { idempotencyKey });
    expect(await countJobs(world)).toBe(1);
  });

  test("tells a duplicate by its dedupe key", async () => {
    const world = await newWorld();
    const client = clientOf(world);
    const first = await client.enqueue("test.greet", { to: "Ada" }, { dedupeKey: "ada" });
    const second = await client.enqueue("test.greet", { to: "Bob" }, { dedupeKey: "ada" });
    expect(second).toMatchObject({ jobId: first.jobId, deduplicated: true });
  });

  test("many jobs, in batches cut by number and by size, each of them once", async () => {
    const world = await newWorld();
    const jobs = Array.from({ length: 600 }, (_, at) => ({
      type: "test.greet" as const,
      payload: { to: `${at} ${"ä".repeat(500)}` },
    }));
    const client = clientOf(world, ["lost", undefined, "lost"], { batchBytesMax: 250_000 });
    const accepted = await client.enqueueMany(jobs);
    expect(new Set(accepted.map(({ jobId }) => jobId)).size).toBe(600);
    expect(await countJobs(world)).toBe(600);
    const last = await client.get(accepted[599]?.jobId ?? "");
    expect(last.payload).toEqual(jobs[599]?.payload);
  });

  test("many jobs goes on after a batch was refused, with the key of the error", async () => {
    const world = await newWorld();
    const jobsWith = (lastTo: string) =>
      Array.from({ length: 501 }, (_, at) => ({
        type: "test.greet" as const,
        payload: { to: at === 500 ? lastTo : `${at}` },
      }));
    const failure: unknown = await clientOf(world)
      .enqueueMany(jobsWith(""))
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: "validation_failed",
      errors: [{ pointer: "#/jobs/500/payload/to" }],
    });
    const { idempotencyKey } = failure as { idempotencyKey: string };
    await clientOf(world).enqueueMany(jobsWith("Ada"), { idempotencyKey });
    expect(await countJobs(world)).toBe(501);
  });
});

describe("waiting", () => {
  test("survives lost requests and answers, and a server without its database", async () => {
    const world = await newWorld();
    const jobId = await world.create("test.greet", { to: "Ada" });
    let reads = 0;
    world.instance.ports.rule = async ({ method }) => {
      if (method !== "read") return undefined;
      reads += 1;
      if (reads === 20) await world.qstash.deliverDue();
      return reads < 10 ? "fail" : undefined;
    };
    const faults: Fault[] = ["fault", "lost", "fault"];
    const ended = await clientOf(world, faults).waitFor(jobId);
    expect(ended).toMatchObject({ id: jobId, status: "completed", result: "Hello Ada" });
  });

  test("ends with a job that failed for good", async () => {
    const world = await newWorld();
    const jobId = await world.create("test.greet", { to: "nobody" });
    await world.qstash.deliverDue();
    expect(await clientOf(world).waitFor(jobId)).toMatchObject({
      status: "dead_letter",
      lastError: { code: "fatal", message: "nobody is there" },
    });
  });

  test("ends at once when it is aborted in the middle", async () => {
    const world = await newWorld();
    const jobId = await world.create("test.greet", { to: "Ada" });
    const controller = new AbortController();
    let reads = 0;
    world.instance.ports.rule = ({ method }) => {
      if (method === "read") reads += 1;
      if (reads === 3) controller.abort(new Error("enough"));
      return undefined;
    };
    const wait = clientOf(world).waitFor(jobId, { signal: controller.signal });
    await expect(wait).rejects.toThrow("enough");
    expect(reads).toBe(3);
  });
});

describe("operating", () => {
  test("cancel, and replay with another payload", async () => {
    const world = await newWorld();
    const client = clientOf(world);
    const { jobId } = await client.enqueue("test.greet", { to: "nobody" });
    expect(await client.cancel(jobId, { reason: "Mistake" })).toMatchObject({
      status: "cancelled",
    });
    const replayed = await client.replay(jobId, { payload: { to: "Ada" }, reason: "Mended" });
    expect(replayed).toMatchObject({ id: jobId, status: "queued", payload: { to: "Ada" } });
  });

  test("cancel gives the cancelled job when the answer to its first try was lost", async () => {
    const world = await newWorld();
    const jobId = await world.create("test.greet", { to: "Ada" });
    expect(await clientOf(world, ["lost"]).cancel(jobId)).toMatchObject({ status: "cancelled" });
    const again = clientOf(world).cancel(jobId);
    await expect(again).rejects.toMatchObject({ code: "job_not_cancellable", status: 409 });
  });

  test("cancel says so when the job had ended otherwise before its repeat", async () => {
    const world = await newWorld();
    const jobId = await world.create("test.greet", { to: "Ada" });
    await world.qstash.deliverDue();
    const late = clientOf(world, ["fault"]).cancel(jobId);
    await expect(late).rejects.toMatchObject({ code: "job_not_cancellable", tries: 2 });
  });

  test("run a job now that is due tomorrow", async () => {
    const world = await newWorld();
    const client = clientOf(world);
    const delayed = { delaySeconds: 86_400 };
    const { jobId } = await client.enqueue("test.greet", { to: "Ada" }, delayed);
    await client.runNow(jobId);
    await world.qstash.deliverDue();
    expect(await client.get(jobId)).toMatchObject({ status: "completed" });
  });
});

describe("listing", () => {
  test("gives every job once, page by page, newest first, and nobody else's", async () => {
    const world = await newWorld();
    const client = clientOf(world, [], { apiKey: KEYS.acme });
    const jobs = Array.from({ length: 25 }, (_, at) => ({
      type: "test.greet" as const,
      payload: { to: `${at}` },
    }));
    const accepted = await client.enqueueMany(jobs);
    await clientOf(world, [], { apiKey: KEYS.globex }).enqueueMany(jobs);
    const listed = await Array.fromAsync(client.list({ pageSize: 7 }));
    expect(listed.map(({ id }) => id).sort()).toEqual(accepted.map(({ jobId }) => jobId).sort());
    expect(listed[0]).toMatchObject({ type: "test.greet", status: "queued" });
    expect(listed[0]).not.toHaveProperty("payload");
  });

  test("keeps to its filter, and survives faults between two pages", async () => {
    const world = await newWorld();
    const enqueuing = clientOf(world);
    const ids: string[] = [];
    for (const dedupeKey of ["a", "b", "c"]) {
      ids.push((await enqueuing.enqueue("test.greet", { to: "Ada" }, { dedupeKey })).jobId);
    }
    await enqueuing.cancel(ids[1] ?? "");
    const client = clientOf(world, ["lost", undefined, "fault"]);
    const queued = await Array.fromAsync(
      client.list({ status: ["queued", "failed"], pageSize: 1 }),
    );
    expect(queued.map(({ id }) => id)).toEqual([ids[2], ids[0]]);
    const [cancelled] = await Array.fromAsync(client.list({ status: "cancelled" }));
    expect(cancelled).toMatchObject({ id: ids[1], dedupeKey: "b" });
    const createdBefore = new Date(cancelled?.createdAt ?? "");
    const older = await Array.fromAsync(client.list({ type: "test.greet", createdBefore }));
    expect(older.map(({ id }) => id)).toEqual([ids[0]]);
  });
});
