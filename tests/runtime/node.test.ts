/** The Node entry: in this process, and as a process that is asked to stop. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import path from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type NodeServer, startNode } from "../../src/entry/node.js";
import {
  apiRequest,
  type Call,
  createJob,
  deliver,
  expectDashboard,
  expectWholeJob,
  overHttp,
  readJob,
  sayThanks,
  startWorld,
  type World,
} from "./world.js";

const ROOT = path.resolve(import.meta.dirname, "../..");

let world: World;
let call: Call;
let isTargetSlow = false;
const held: ServerResponse[] = [];

beforeAll(async () => {
  world = await startWorld(
    () => call,
    (response) => {
      if (isTargetSlow) held.push(response);
      else sayThanks(response);
    },
  );
  Object.assign(world.env, { HOST: "127.0.0.1", PORT: "0" });
});

afterAll(() => world.close());

async function start(): Promise<NodeServer> {
  const server = await startNode(world.env, { writeLog: () => undefined });
  call = overHttp(`http://127.0.0.1:${server.port}`);
  return server;
}

/** Creates a job and starts its delivery; gives both once the target holds the job's request. */
async function startSlowJob() {
  isTargetSlow = true;
  const jobId = await createJob(call, world);
  const delivery = deliver(world, jobId);
  await expect.poll(() => held.length).toBe(1);
  isTargetSlow = false;
  return { jobId, delivery };
}

test("a Node server runs a job from create to completed, and serves the dashboard", async () => {
  const server = await start();
  await expectWholeJob(call, world);
  await expectDashboard(call, world);
  expect(await server.sweep()).toMatchObject({ failedSteps: [], more: false });
  await server.stop();
});

test("a server that is not configured does not start", async () => {
  await expect(startNode({ ...world.env, API_KEYS: "" })).rejects.toThrow("API_KEYS is missing");
});

test("stopping cuts what runs beyond its bound", async () => {
  const server = await start();
  const { delivery } = await startSlowJob();
  await server.stop(0);
  expect(await delivery).toMatchObject({ status: 0 });
  held.splice(0).forEach(sayThanks);
});

test("SIGTERM lets a running delivery end, and accepts nothing more", async () => {
  const child = spawn(process.execPath, ["--import", "tsx", "src/entry/node.ts"], {
    cwd: ROOT,
    env: { ...process.env, ...world.env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  call = overHttp(`http://127.0.0.1:${/port (\d+)/.exec(line)?.[1]}`);
  const { jobId, delivery } = await startSlowJob();
  child.kill("SIGTERM");
  await expect
    .poll(() =>
      call(apiRequest("/api/health")).then(
        (response) => response.status,
        () => "refused",
      ),
    )
    .toBe("refused");
  held.splice(0).forEach(sayThanks);
  expect(await delivery).toMatchObject({ status: 200, answer: { outcome: "completed", jobId } });
  expect(await once(child, "exit")).toEqual([0, null]);
  const server = await start();
  expect(await readJob(call, jobId)).toMatchObject({ status: "completed", attempts: 1 });
  await server.stop();
});
