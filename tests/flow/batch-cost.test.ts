/** What a batch costs, counted: round trips, calls of QStash, bytes that the database answers. */

import { expect, test, vi } from "vitest";
import { scripted, succeed, TYPE } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";

const flow = setUpFlow();

/** Posts a batch of so many jobs, and gives their ids. */
async function post(count: number): Promise<string[]> {
  const jobs = Array.from({ length: count }, (_, n) => ({ type: TYPE, payload: n }));
  const response = await flow.request("POST", "/api/jobs/batch", { body: { jobs } });
  expect(response.status).toBe(202);
  const answer = (await response.json()) as { jobs: { jobId: string }[] };
  return answer.jobs.map(({ jobId }) => jobId);
}

test.each([1, 100, 101, 500])(
  "a batch of %i costs one round trip and a QStash call per 100",
  async (count) => {
    flow.start([scripted(succeed())]);
    const before = flow.qstash.counts();
    flow.database.neon.requests = 0;
    const ids = await post(count);
    expect(flow.database.neon.requests).toBe(1);
    const { publishRequests, batchRequests, messages } = flow.qstash.counts();
    expect(messages - before.messages).toBe(count);
    expect(publishRequests - before.publishRequests).toBe(Math.ceil(count / 100));
    expect(batchRequests - before.batchRequests).toBe(count === 1 ? 0 : Math.ceil(count / 100));
    expect(new Set(ids).size).toBe(count);
  },
);

/** Posts a batch of so many jobs, and gives how much the database answered. */
async function answerBytes(count: number): Promise<number> {
  let bytes = 0;
  const { fetch } = globalThis;
  vi.stubGlobal("fetch", async (...request: Parameters<typeof fetch>) => {
    const response = await fetch(...request);
    const isAnswer = request[0] === flow.database.neon.endpoint;
    if (isAnswer) bytes += (await response.clone().arrayBuffer()).byteLength;
    return response;
  });
  await post(count);
  vi.unstubAllGlobals();
  return bytes;
}

test("what the database answers to a batch grows with its jobs, not with their square", async () => {
  flow.start([scripted(succeed())]);
  const [small, large] = [await answerBytes(50), await answerBytes(500)];
  expect(small).toBeGreaterThan(0);
  expect(large / small).toBeLessThan(11);
});
