/** The Worker as it is deployed: wrangler's bundle in workerd. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestHarness } from "wrangler";
import { type Bundle, checkBundle } from "../../dev/build/check-bundle.js";
import { buildWorker } from "../../dev/build/worker.js";
import {
  apiRequest,
  type Call,
  createJob,
  deliver,
  expectDashboard,
  expectWholeJob,
  overHttp,
  readJob,
  startWorld,
  type World,
} from "./world.js";

const server = createTestHarness();
let world: World;
let bundle: Bundle;
let call: Call;

beforeAll(async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "antrean-worker-"));
  [world, bundle] = await Promise.all([startWorld(() => call), buildWorker(folder)]);
  await server.update({
    root: path.resolve(import.meta.dirname, "../.."),
    // As secrets, because those win over the .dev.vars of whoever runs this.
    workers: [{ configPath: "wrangler.toml", prebuiltWorkerDir: folder, secrets: world.env }],
  });
  const { url } = await server.listen();
  call = overHttp(url);
  return () => rm(folder, { recursive: true });
});

afterAll(async () => {
  await server.close();
  await world?.close();
});

test("the bundle holds nothing of development, no module of Node, and at most 200 KB", async () => {
  const { gzipBytes, faults } = await checkBundle(bundle);
  expect(faults).toEqual([]);
  expect(gzipBytes).toBeLessThanOrEqual(200_000);
});

test("a Worker runs a job from create to completed and stores its payload as an object (C19)", async () => {
  await expectWholeJob(call, world);
});

test("a Worker tells in words what does not fit: the bundle holds the messages", async () => {
  const headers = { "content-type": "application/json", "idempotency-key": "words" };
  const body = JSON.stringify({ type: 1, payload: null });
  const response = await call(apiRequest("/api/jobs", { method: "POST", headers, body }));
  expect(await response.json()).toMatchObject({
    code: "validation_failed",
    errors: [{ pointer: "#/type", detail: "Invalid input: expected string, received number" }],
  });
});

test("a Worker serves the dashboard", async () => {
  await expectDashboard(call, world);
});

test("one isolate serves 20 requests after each other and 20 at once (V04)", async () => {
  const jobId = await createJob(call, world);
  const statuses: number[] = [];
  const read = async (): Promise<void> => {
    const response = await call(apiRequest(`/api/jobs/${jobId}`));
    await response.arrayBuffer();
    statuses.push(response.status);
  };
  for (let at = 0; at < 20; at += 1) await read();
  await Promise.all(Array.from({ length: 20 }, read));
  expect(statuses).toEqual(Array.from({ length: 40 }, () => 200));
});

test("a cron event sweeps: what could not be published runs after it", async () => {
  world.qstash.refusePublishes({ status: 500 });
  const jobId = await createJob(call, world);
  await expect
    .poll(() => isMarkedUnpublished(jobId), { message: "the failed publish is written down" })
    .toBe(true);
  world.qstash.refusePublishes(null);
  expect(await server.getWorker().scheduled({ cron: "*/15 * * * *" })).toMatchObject({
    outcome: "ok",
  });
  await deliver(world, jobId);
  expect(await readJob(call, jobId)).toMatchObject({ status: "completed" });
});

test("faults of the configuration are a 503, and named in the log only", async () => {
  await server.update((options) => ({
    ...options,
    workers: options.workers.map((worker) => ({
      ...worker,
      secrets: { ...world.env, QSTASH_TOKEN: "short" },
    })),
  }));
  const { url } = await server.listen();
  const response = await overHttp(url)(apiRequest("/api/health"));
  expect(response.status).toBe(503);
  expect(response.headers.get("retry-after")).toBe("60");
  const body = await response.text();
  expect(JSON.parse(body)).toMatchObject({ code: "misconfigured", status: 503 });
  expect(body).not.toContain("QSTASH_TOKEN");
  const log = server.getLogs().map(({ message }) => message);
  expect(log.join("\n")).toContain("QSTASH_TOKEN must have at least");
});

async function isMarkedUnpublished(jobId: string): Promise<boolean> {
  const { rows } = await world.database.pg.query(
    "select triggered_at is null as unpublished from jobs where id = $1",
    [jobId],
  );
  return rows[0]?.unpublished;
}
