import { describe, expect, test } from "vitest";
import type { JobDefinition } from "../../src/core/define-job.js";
import { scripted, succeed } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";
import { startTarget } from "../support/outbound.js";

const flow = setUpFlow();

const BAD = "test.bad";
const good = (n: number): string => `test.good_${n}`;
const typesOf = (count: number): JobDefinition[] =>
  Array.from({ length: count }, (_, n) => scripted(succeed(), {}, good(n)));

/** A type whose every message QStash refuses; `defineJob` would refuse such a period itself. */
const bad = (): JobDefinition => ({
  ...scripted(succeed(), { timeoutSeconds: 5 }, BAD),
  flowControl: { rate: 1, periodSeconds: 30 * 86_400 },
});

async function createBatch(types: string[]): Promise<void> {
  const jobs = types.map((type) => ({ type, payload: {} }));
  const response = await flow.request("POST", "/api/jobs/batch", { body: { jobs } });
  expect(response.status).toBe(202);
}

/** Types of the jobs that are known not to be published. */
async function unpublished(): Promise<string[]> {
  const rows = await flow.query(
    "select distinct job_type from jobs where triggered_at is null order by job_type",
  );
  return rows.map(({ job_type }) => String(job_type));
}

describe("a message that QStash refuses for good", () => {
  test("is known even where QStash took the rest of its batch, and the next sweep publishes it (F01)", async () => {
    await using target = await startTarget((response) => {
      const answers = [{ messageId: "msg_1" }, { error: "quota exceeded" }, { messageId: "msg_3" }];
      response.setHeader("content-type", "application/json").end(JSON.stringify(answers));
    });
    flow.start(typesOf(3), { env: { QSTASH_URL: target.url } });
    await createBatch([good(0), good(1), good(2)]);
    expect(target.requests.map(({ url }) => url)).toEqual(["/v2/batch"]);
    expect(await unpublished()).toEqual([good(1)]);

    flow.start(typesOf(3));
    expect(await flow.sweep()).toMatchObject({ published: 1, publishFailures: 0 });
    expect(flow.qstash.pending()).toMatchObject([{ labels: [good(1)] }]);
  });

  test("keeps none of the others in its batch from being published, and is logged with its cause (F01)", async () => {
    flow.start([bad(), ...typesOf(2)]);
    const before = flow.qstash.counts().publishRequests;
    await createBatch([good(0), BAD, good(1), BAD, good(0)]);

    expect(await unpublished()).toEqual([BAD]);
    expect(flow.qstash.pending()).toHaveLength(3);
    // Together, and then each type.
    expect(flow.qstash.counts().publishRequests - before).toBe(4);
    expect(flow.logs.filter(({ event }) => event === "publish_failed")).toMatchObject([
      { type: BAD, count: 2, cause: "status_400", recorded: true },
    ]);
  });

  test("costs a batch of many types ten calls more at most; sweeps publish the rest (F01)", async () => {
    flow.start([bad(), ...typesOf(25)]);
    const before = flow.qstash.counts().publishRequests;
    await createBatch([BAD, ...typesOf(25).map(({ type }) => type)]);
    expect(flow.qstash.counts().publishRequests - before).toBe(11);
    expect(await unpublished()).toHaveLength(17);

    await flow.sweep();
    await flow.sweep();
    expect(await unpublished()).toEqual([BAD]);
  });

  test("is left out of what a sweep takes afterwards: other types behind it are published (F01)", async () => {
    flow.start([bad(), ...typesOf(1)]);
    flow.qstash.refusePublishes({ status: 503 });
    const lots = Array.from({ length: 300 }, () => BAD);
    await createBatch(lots);
    await createBatch(lots);
    await createBatch([good(0), good(0)]);
    flow.qstash.refusePublishes(null);
    flow.logs.length = 0;

    const report = await flow.sweep();
    expect(report).toMatchObject({ refusedTypes: [BAD], published: 502, publishFailures: 500 });
    expect(flow.qstash.pending()).toHaveLength(2);
    expect(await unpublished()).toEqual([BAD]);
    // No message will wake it, so the sweep runs what it has calls for.
    expect(report.ranInSweep).toBeGreaterThan(0);
    expect(flow.logs).toContainEqual(
      expect.objectContaining({ event: "sweep_finished", refusedTypes: BAD }),
    );
    expect(flow.logs).toContainEqual(
      expect.objectContaining({ event: "publish_failed", type: BAD, cause: "status_400" }),
    );
  });

  test.each([
    { status: 401, requests: 1, cause: "status_401" },
    { status: 503, requests: 2, cause: "status_503" },
  ])(
    "is not looked for where $status says that none will go through (F01)",
    async ({ status, requests, cause }) => {
      flow.start(typesOf(3));
      flow.qstash.refusePublishes({ status });
      const before = flow.qstash.counts().publishRequests;
      await createBatch([good(0), good(1), good(2)]);
      expect(flow.qstash.counts().publishRequests - before).toBe(requests);
      expect(flow.logs).toContainEqual(expect.objectContaining({ event: "publish_failed", cause }));
    },
  );
});
