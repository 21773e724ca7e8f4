/** `npm run demo`: jobs of several kinds, followed to their end on a stack of their own. */

import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { close, listen } from "./listen.js";
import { runProgram } from "./run-program.js";
import { DEV_SECRET, refreshRegistry, type Stack, startStack } from "./stack.js";

/** One line of the demonstration: what is asked for, and what must come of it. */
interface Scene {
  title: string;
  request: Record<string, unknown>;
  idempotencyKey: string;
  /** Checked at the end; the demonstration fails where it does not hold. */
  expected: (outcome: Outcome) => boolean;
}

interface Outcome {
  jobId: string;
  status: string;
  attempts: number;
  deduplicated: boolean;
  replayed: boolean;
  seconds: number;
}

type Watched = Scene & { answer: { jobId: string; deduplicated: boolean; replayed: boolean } };

const POLL_MS = 250;
const PORT_ATTEMPTS = 5;
const SECONDS_MAX = 60;
const TERMINAL = ["completed", "dead_letter", "cancelled"];

async function main(): Promise<void> {
  const dataFolder = await mkdtemp(join(tmpdir(), "antrean-demo-"));
  const target = await startTarget();
  const ports = { neon: 0, qstash: 0, mail: 0 };
  const stack = await startStack({
    dataFolder,
    fresh: true,
    postgresUrl: undefined,
    qstashUrl: undefined,
    ports,
  });
  try {
    await refreshRegistry();
    const api = await serve(stack);
    try {
      await play(api.url, scenes(target.url));
    } finally {
      await api.stop();
    }
  } finally {
    await stack.close();
    await close(target.server);
    await rm(dataFolder, { recursive: true, force: true });
  }
}

async function play(url: string, all: Scene[]): Promise<void> {
  console.log("Creating jobs:\n");
  const watched = await createAll(url, all);
  const outcomes = await follow(url, watched);
  printTable(watched, outcomes);
  const failed = watched.filter((scene, at) => {
    const outcome = outcomes[at];
    return !outcome || !scene.expected(outcome);
  });
  if (failed.length === 0) return;
  console.error(`\nNot as expected: ${failed.map(({ title }) => title).join(", ")}`);
  process.exitCode = 1;
}

/** Starts the application on a free port; it must know its own address before it listens. */
async function serve(stack: Stack): Promise<{ url: string; stop: () => Promise<void> }> {
  const { startNode } = await import("../src/entry/node.js");
  for (let attempt = 1; ; attempt += 1) {
    const probe = createServer();
    const port = await listen(probe, { port: 0, service: "the demonstration's API" });
    await close(probe);
    const url = `http://127.0.0.1:${port}`;
    const env = { ...stack.env, HOST: "127.0.0.1", PORT: String(port), PUBLIC_URL: url };
    try {
      const server = await startNode(env, { writeLog: () => {} });
      return { url, stop: () => server.stop(2) };
    } catch (error) {
      // Somebody else's outgoing connection may have got it meanwhile.
      const isTaken = (error as NodeJS.ErrnoException).code === "EADDRINUSE";
      if (!isTaken || attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

function scenes(target: string): Scene[] {
  const call = (path: string, more: Record<string, unknown> = {}) => ({
    type: "http_request",
    payload: { url: `${target}${path}`, method: "POST", json: { from: "the demonstration" } },
    ...more,
  });
  const delayed = call("/ok", { delaySeconds: 4, dedupeKey: "report:2026" });
  return [
    {
      title: "completed",
      request: call("/ok"),
      idempotencyKey: "demo-1",
      expected: ({ status, attempts }) => status === "completed" && attempts === 1,
    },
    {
      title: "retried, then completed",
      request: call("/flaky"),
      idempotencyKey: "demo-2",
      expected: ({ status, attempts }) => status === "completed" && attempts === 3,
    },
    {
      title: "dead-lettered",
      request: call("/gone"),
      idempotencyKey: "demo-3",
      expected: ({ status, attempts }) => status === "dead_letter" && attempts === 1,
    },
    {
      title: "e-mail",
      request: {
        type: "send_email",
        payload: { to: "you@example.com", subject: "Hello", text: "Sent by a durable job." },
      },
      idempotencyKey: "demo-4",
      expected: ({ status }) => status === "completed",
    },
    {
      title: "delayed by 4 s",
      request: delayed,
      idempotencyKey: "demo-5",
      expected: ({ status, seconds }) => status === "completed" && seconds >= 4,
    },
    {
      title: "deduplicated",
      request: delayed,
      idempotencyKey: "demo-6",
      expected: ({ status, deduplicated }) => status === "completed" && deduplicated,
    },
    {
      title: "idempotent replay",
      request: call("/ok"),
      idempotencyKey: "demo-1",
      expected: ({ status, replayed }) => status === "completed" && replayed,
    },
  ];
}

async function createAll(url: string, all: Scene[]): Promise<Watched[]> {
  const watched: Watched[] = [];
  for (const scene of all) {
    const response = await fetch(`${url}/api/jobs`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${DEV_SECRET}`,
        "content-type": "application/json",
        "idempotency-key": scene.idempotencyKey,
      },
      body: JSON.stringify(scene.request),
    });
    const body = (await response.json()) as { jobId: string; deduplicated: boolean };
    if (response.status !== 202) throw new Error(`${scene.title}: ${JSON.stringify(body)}`);
    const replayed = response.headers.get("idempotent-replayed") === "true";
    watched.push({ ...scene, answer: { ...body, replayed } });
    console.log(`  ${scene.title.padEnd(26)} 202  ${body.jobId}`);
  }
  return watched;
}

/** Reads every job until all have ended; prints one line for each change. */
async function follow(url: string, watched: Watched[]): Promise<Outcome[]> {
  const startedMs = performance.now();
  const seconds = (): number => (performance.now() - startedMs) / 1000;
  const endedAt = new Map<string, number>();
  const shown = new Map<string, string>();
  console.log("\nFollowing them:\n");
  for (;;) {
    const jobs = await Promise.all(watched.map(({ answer }) => readJob(url, answer.jobId)));
    for (const [at, job] of jobs.entries()) {
      const line = `${job.status}, attempt ${job.attempts}`;
      const key = String(at);
      if (shown.get(key) !== line) {
        const bar = progressBar(
          jobs.filter(({ status }) => TERMINAL.includes(status)).length,
          jobs,
        );
        const title = (watched[at]?.title ?? "").padEnd(26);
        console.log(`  ${bar} ${seconds().toFixed(1).padStart(5)} s  ${title} ${line}`);
        shown.set(key, line);
      }
      if (TERMINAL.includes(job.status) && !endedAt.has(key)) endedAt.set(key, seconds());
    }
    if (endedAt.size === watched.length) {
      return jobs.map((job, at) => ({
        jobId: job.id,
        status: job.status,
        attempts: job.attempts,
        deduplicated: watched[at]?.answer.deduplicated ?? false,
        replayed: watched[at]?.answer.replayed ?? false,
        seconds: endedAt.get(String(at)) ?? 0,
      }));
    }
    if (seconds() > SECONDS_MAX) throw new Error(`not all jobs ended within ${SECONDS_MAX} s`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

async function readJob(
  url: string,
  jobId: string,
): Promise<{ id: string; status: string; attempts: number }> {
  const headers = { authorization: `Bearer ${DEV_SECRET}` };
  const response = await fetch(`${url}/api/jobs/${jobId}`, { headers });
  return (await response.json()) as { id: string; status: string; attempts: number };
}

function progressBar(done: number, all: unknown[]): string {
  return `[${"#".repeat(done)}${".".repeat(all.length - done)}]`;
}

function printTable(watched: Watched[], outcomes: Outcome[]): void {
  const rows = outcomes.map((outcome, at) => [
    watched[at]?.title ?? "",
    outcome.status,
    String(outcome.attempts),
    outcome.deduplicated ? "the same job" : outcome.replayed ? "the stored answer" : "a new job",
    `${outcome.seconds.toFixed(1)} s`,
    outcome.jobId,
  ]);
  const table = [["scene", "ended as", "attempts", "answered with", "after", "job"], ...rows];
  const widths = table[0]?.map((_, column) =>
    Math.max(...table.map((row) => row[column]?.length ?? 0)),
  );
  console.log("");
  for (const row of table) {
    console.log(`  ${row.map((cell, column) => cell.padEnd(widths?.[column] ?? 0)).join("  ")}`);
  }
}

/** A server to call: one path works, one works at the third try, one is gone. */
async function startTarget(): Promise<{ server: Server; url: string }> {
  let flakyCalls = 0;
  const server = createServer((request, response) => {
    request.resume();
    if (request.url === "/flaky") flakyCalls += 1;
    if (request.url === "/gone") response.writeHead(410).end("gone");
    else if (request.url === "/flaky" && flakyCalls < 3) {
      response.writeHead(503, { "retry-after": "1" }).end("busy");
    } else response.writeHead(200, { "content-type": "text/plain" }).end("done");
  });
  const port = await listen(server, { port: 0, service: "the demonstration's target" });
  return { server, url: `http://127.0.0.1:${port}` };
}

await runProgram(main);
