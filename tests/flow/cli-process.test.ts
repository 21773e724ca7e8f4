import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { serve } from "@hono/node-server";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod";
import { defineJob } from "../../src/core/define-job.js";
import { environmentOf } from "../support/cli.js";
import { KEEPS_OPEN } from "../support/keeps-open.js";
import { createWorld, type World } from "../support/world.js";

const ROOT = resolve(import.meta.dirname, "../..");

const echo = defineJob({
  type: "test.echo",
  payload: z.unknown(),
  run: ({ payload }) => `Hello ${payload}`,
});

let world: World;
let server: Server;
let url: string;

beforeAll(async () => {
  world = await createWorld({ jobs: [echo] });
  const fetch = async (request: Request) => {
    if (request.url.includes("?wait=")) await world.qstash.deliverDue();
    return world.instance.fetch(request);
  };
  const options = { port: 0, hostname: "127.0.0.1", overrideGlobalObjects: false };
  server = serve({ fetch, ...options }) as Server;
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await world.close();
});

interface Running {
  child: ChildProcess;
  output: { stdout: string; stderr: string };
  exited: Promise<number | null>;
}

function start(...argv: string[]): Running {
  // Not through the tsx command, which is a process of its own that signals would have to pass.
  const child = spawn(
    process.execPath,
    [KEEPS_OPEN, "--import", "tsx", "src/cli/main.ts", ...argv],
    {
      cwd: ROOT,
      env: { PATH: process.env.PATH, ...environmentOf(world), ANTREAN_URL: url },
      stdio: ["pipe", "pipe", "pipe"],
    },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  const output = { stdout: "", stderr: "" };
  child.stdout?.on("data", (chunk: Buffer) => {
    output.stdout += chunk.toString();
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    output.stderr += chunk.toString();
  });
  const exited = once(child, "close").then(([code]) => code as number | null);
  return { child, output, exited };
}

test("a process reads its standard input, waits for the job without a warning, and ends", async () => {
  const { child, output, exited } = start("jobs", "create", "test.echo", "--wait", "--json");
  child.stdin?.end('"Ada"');
  expect(await exited, output.stderr).toBe(0);
  expect(JSON.parse(output.stdout)).toMatchObject({ status: "completed", result: "Hello Ada" });
  expect(output.stderr).toBe("");
});

test("a file is loaded by many requests at a time, without a warning", async () => {
  const folder = await mkdtemp(join(tmpdir(), "antrean-process-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "jobs.ndjson");
  const line = JSON.stringify({ type: "test.echo", payload: 1, delaySeconds: 60 });
  await writeFile(file, `${line}\n`.repeat(40));
  const { output, exited } = start("jobs", "create", "--from", file, "--concurrency", "16");
  expect(await exited, output.stderr).toBe(0);
  expect(output).toEqual({ stdout: "", stderr: "40 accepted, 0 refused\n" });
});

test("SIGTERM ends a tail and a worker with success", async () => {
  await world.create("test.echo", "Bob");
  const tail = start("jobs", "tail");
  const worker = start("work", "--types", "send_email", "--concurrency", "2");
  await vi.waitFor(() => expect(tail.output.stdout).toContain("test.echo"), { timeout: 30_000 });
  tail.child.kill("SIGTERM");
  expect(await tail.exited, tail.output.stderr).toBe(0);
  await vi.waitFor(() => expect(worker.output.stderr).toContain("Working"), { timeout: 30_000 });
  worker.child.kill("SIGTERM");
  expect(await worker.exited, worker.output.stderr).toBe(0);
  expect(worker.output.stderr).toMatch(/Stopping[\s\S]*Stopped\.\n$/);
});
