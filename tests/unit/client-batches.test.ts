import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { batchesOf } from "../../src/client/batches.js";
import { createClient } from "../../src/client/client.js";

const bytesOf = (text: string) => new TextEncoder().encode(text).length;

describe("batches", () => {
  test("hold every job once, in order, within both limits, and no two could be one", () => {
    const jobs = fc.array(fc.record({ type: fc.constant("t"), payload: fc.string() }), {
      maxLength: 40,
    });
    fc.assert(
      fc.property(jobs, fc.integer({ min: 60, max: 300 }), (list, bytesMax) => {
        const batches = batchesOf(list, bytesMax);
        const parsed = batches.map(({ body }) => JSON.parse(body).jobs as unknown[]);
        expect(parsed.flat()).toEqual(list);
        for (const [at, { first, body }] of batches.entries()) {
          const size = parsed[at]?.length ?? 0;
          expect(first).toBe(parsed.slice(0, at).flat().length);
          expect(size === 1 || bytesOf(body) <= bytesMax).toBe(true);
          const next = JSON.stringify(list[first + size]);
          if (at + 1 < batches.length) expect(bytesOf(`${body},${next}`)).toBeGreaterThan(bytesMax);
        }
      }),
    );
  });

  test.each([
    [0, []],
    [500, [500]],
    [501, [500, 1]],
    [1000, [500, 500]],
  ])("%i small jobs make batches of %j", (count, sizes) => {
    const batches = batchesOf(Array(count).fill({ type: "t" }), 4_000_000);
    expect(batches.map(({ body }) => JSON.parse(body).jobs.length)).toEqual(sizes);
  });
});

/** A client whose requests are answered by `answer`; it makes each of its waits at once. */
function clientOf(answer: (jobs: unknown[], number: number) => Response | "lost") {
  const keys: string[] = [];
  const client = createClient({
    baseUrl: "https://jobs.example",
    apiKey: "secret",
    async fetch(request) {
      keys.push(request.headers.get("Idempotency-Key") ?? "");
      const body = (await request.json()) as { jobs: unknown[] };
      const response = answer(body.jobs, keys.length);
      if (response === "lost") throw new TypeError("fetch failed");
      return response;
    },
    sleep: async (milliseconds, signal) => {
      // Time limits last until they are called off.
      if (milliseconds >= 30_000) {
        await new Promise((resolve) => signal?.addEventListener("abort", resolve));
      }
    },
  });
  return { client, keys };
}

const jobsOf = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ type: "greet", payload: { at } }));

function accept(jobs: unknown[]): Response {
  const ids = (jobs as { payload: { at: number } }[]).map(({ payload }) => `job-${payload.at}`);
  return Response.json({ jobs: ids.map((jobId) => ({ jobId })) }, { status: 202 });
}

describe("enqueueMany", () => {
  test("answers in the order of its jobs; each batch has a key, the same in its repeats", async () => {
    const { client, keys } = clientOf((jobs, number) => (number === 2 ? "lost" : accept(jobs)));
    const accepted = await client.enqueueMany(jobsOf(1_100), { idempotencyKey: "import-7" });
    expect(accepted.map(({ jobId }) => jobId)).toEqual(
      Array.from({ length: 1_100 }, (_, at) => `job-${at}`),
    );
    expect(keys).toEqual(["import-7.0", "import-7.1", "import-7.1", "import-7.2"]);
  });

  test("makes a key of its own for every call", async () => {
    const { client, keys } = clientOf(accept);
    await client.enqueueMany(jobsOf(1));
    await client.enqueueMany(jobsOf(1));
    expect(new Set(keys).size).toBe(2);
  });

  test("sends nothing for no jobs", async () => {
    const { client, keys } = clientOf(accept);
    expect(await client.enqueueMany([])).toEqual([]);
    expect(keys).toEqual([]);
  });

  test("tells a failure in terms of the whole list, with the key that lets it go on", async () => {
    const body = {
      code: "validation_failed",
      detail: "The body holds values that are not accepted.",
      errors: [{ pointer: "#/jobs/3/payload/lines/0", detail: "is required" }],
    };
    const headers = { "Content-Type": "application/problem+json" };
    const refusal = new Response(JSON.stringify(body), { status: 422, headers });
    const { client } = clientOf((jobs, number) => (number === 2 ? refusal : accept(jobs)));
    const failure = client.enqueueMany(jobsOf(600), { idempotencyKey: "import-7" });
    await expect(failure).rejects.toMatchObject({
      code: "validation_failed",
      status: 422,
      idempotencyKey: "import-7",
      errors: [{ pointer: "#/jobs/503/payload/lines/0", detail: "is required" }],
    });
  });
});
