import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { close, listen } from "../../dev/listen.js";
import { DEV_SECRET } from "../../dev/stack.js";
import { KEEPS_OPEN } from "../support/keeps-open.js";

const ROOT = resolve(import.meta.dirname, "../..");
const TSX = join(ROOT, "node_modules/.bin/tsx");

let folder: string;
let ports: Record<string, string>;
let dev: ChildProcess;
let printed = "";
let ended: Promise<unknown>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "antrean-local-"));
  ports = await freePorts(["PORT", "QSTASH_PORT", "NEON_PORT", "MAIL_PORT"]);
  await start();
});

afterAll(async () => {
  await stop("SIGTERM");
  await rm(folder, { recursive: true, force: true });
});

async function start(): Promise<void> {
  printed = "";
  dev = spawn(TSX, [join(ROOT, "dev/start.ts")], {
    cwd: folder,
    env: { ...process.env, ...ports, NODE_OPTIONS: KEEPS_OPEN },
  });
  ended = new Promise((done) => dev.once("exit", done));
  for (const stream of [dev.stdout, dev.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      printed += chunk.toString();
    });
  }
  await vi.waitFor(() => expect(printed).toContain("Antrean is ready."), { timeout: 30_000 });
}

async function stop(signal: NodeJS.Signals): Promise<void> {
  dev.kill(signal);
  await ended;
}

test("the curl line that local mode prints, pasted into a shell, makes a job that completes", async () => {
  const line = /curl -s \S+\/api\/jobs \\\n(?:.*\\\n)*.*/.exec(printed)?.[0] ?? "";
  const { stdout } = await promisify(execFile)("bash", ["-c", line]);
  const { jobId } = JSON.parse(stdout) as { jobId: string };
  expect(await endOf(jobId)).toMatchObject({ status: "completed", attempts: 1 });
});

test("a local server named in a payload receives exactly one request, with the operation id", async () => {
  const requests: IncomingMessage[] = [];
  const target = createServer((request, response) => {
    requests.push(request.resume());
    response.end("ok");
  });
  const port = await listen(target, { port: 0, service: "the target" });
  const payload = { url: `http://127.0.0.1:${port}/hook`, method: "POST", json: { n: 1 } };
  const jobId = await create({ type: "http_request", payload });
  expect(await endOf(jobId)).toMatchObject({ status: "completed", result: { status: 200 } });
  await close(target);
  expect(requests.map(({ headers }) => headers["idempotency-key"])).toEqual([jobId]);
});

test("an e-mail lands in the local mail sink", async () => {
  const payload = { to: "someone@example.com", subject: "Hello", text: "From a job." };
  const jobId = await create({ type: "send_email", payload });
  expect(await endOf(jobId)).toMatchObject({ status: "completed" });
  const mails = await fetch(`http://127.0.0.1:${ports.MAIL_PORT}/emails`);
  expect(await mails.text()).toContain("From a job.");
});

test("what a job file keeps open does not keep the registry's program from its end", async () => {
  const { stdout, code } = await runToEnd("dev/build/registry.ts", { NODE_OPTIONS: KEEPS_OPEN });
  expect([code, stdout]).toEqual([0, expect.stringContaining("registry.gen.ts")]);
});

test("every taken port is named with the variable that moves it", async () => {
  const { stderr, code } = await runToEnd("dev/start.ts", ports);
  expect(code).toBe(1);
  for (const name of ["NEON_PORT", "QSTASH_PORT", "MAIL_PORT", "PORT"]) {
    expect(stderr).toMatch(new RegExp(`Port ${ports[name]} for .+ is taken. Set ${name} to `));
  }
});

// Mostly they wait, so they do it together.
describe.concurrent("in real time", () => {
  test("a job that waited for its time outlives a restart, although its message was in memory", async () => {
    const payload = { url: `http://127.0.0.1:${ports.PORT}/api/health`, method: "GET" };
    const jobId = await create({ type: "http_request", payload, delaySeconds: 3 });
    await stop("SIGTERM");
    await start();
    // The type moves, so that nothing takes it for silent and probes it.
    expect(await endOf(await create({ type: "http_request", payload }))).toMatchObject({
      attempts: 1,
    });
    expect(await endOf(jobId)).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("the demonstration runs unattended to its end and shows every kind of outcome", async () => {
    const { stdout, stderr, code } = await runToEnd("dev/demo.ts", { NODE_OPTIONS: KEEPS_OPEN });
    expect(code, stderr).toBe(0);
    for (const scene of [
      "completed",
      "retried, then completed",
      "dead-lettered",
      "delayed by 4 s",
    ]) {
      expect(stdout).toContain(scene);
    }
    expect(stdout).toMatch(/deduplicated +completed +1 +the same job/);
    expect(stdout).toMatch(/idempotent replay +completed +1 +the stored answer/);
  });
});

const api = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(`http://127.0.0.1:${ports.PORT}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${DEV_SECRET}`, ...init.headers },
  });

async function create(job: unknown): Promise<string> {
  const response = await api("/api/jobs", {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": crypto.randomUUID() },
    body: JSON.stringify(job),
  });
  expect(response.status).toBe(202);
  return ((await response.json()) as { jobId: string }).jobId;
}

async function endOf(jobId: string): Promise<unknown> {
  return (await api(`/api/jobs/${jobId}?wait=20`)).json();
}

async function runToEnd(
  script: string,
  env: Record<string, string>,
): Promise<{ stdout: string; stderr: string; code: number | null }> {
  const cwd = await mkdtemp(join(tmpdir(), "antrean-run-"));
  const child = spawn(TSX, [join(ROOT, script)], { cwd, env: { ...process.env, ...env } });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const code = await new Promise<number | null>((done) => child.once("exit", done));
  await rm(cwd, { recursive: true, force: true });
  return { stdout, stderr, code };
}

/**
 * Ports that were free a moment ago, which the scripts take at once. Below those that a system gives
 * to outgoing connections, of which other tests make thousands meanwhile.
 */
async function freePorts(names: string[]): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of names) {
    while (!found[name]) {
      const port = randomInt(20_000, 30_000);
      const server = createServer();
      const isFree = await listen(server, { port, service: "a free port" }).catch(() => 0);
      await close(server);
      if (isFree && !Object.values(found).includes(String(port))) found[name] = String(port);
    }
  }
  return found;
}
