/** `npm run dev`: the whole of Antrean on this machine, without an account. */

import { createServer } from "node:http";
import { parseArgs } from "node:util";
import type { NodeServer } from "../src/entry/node.js";
import { close, listen } from "./listen.js";
import { formatLogLine } from "./log-line.js";
import { runProgram } from "./run-program.js";
import { DEV_SECRET, refreshRegistry, startStack } from "./stack.js";

const HELP = `npm run dev [-- --fresh]

  --fresh   start without the data of last time (in .antrean/)

  PORT (3000), QSTASH_PORT (8080), NEON_PORT (5488), MAIL_PORT (8025) move the ports;
  DEV_POSTGRES_URL puts another Postgres behind the local Neon endpoint;
  QSTASH_URL takes another local QStash server (the official one) instead of ours.`;

/** A job that nothing wakes up is found within seconds here, where sweeps cost nothing. */
const SWEEP_INTERVAL_SECONDS = 5;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { fresh: { type: "boolean" }, help: { type: "boolean", short: "h" } },
  });
  if (values.help) {
    console.log(HELP);
    return;
  }
  const port = portOf("PORT", 3000);
  const ports = {
    neon: portOf("NEON_PORT", 5488),
    qstash: portOf("QSTASH_PORT", 8080),
    mail: portOf("MAIL_PORT", 8025),
  };
  const qstashUrl = localQstashUrl();
  await checkPorts([
    { port: ports.neon, service: "the Neon stand-in", variable: "NEON_PORT" },
    ...(qstashUrl
      ? []
      : [{ port: ports.qstash, service: "the QStash stand-in", variable: "QSTASH_PORT" }]),
    { port: ports.mail, service: "the mail sink", variable: "MAIL_PORT" },
    { port, service: "the API", variable: "PORT" },
  ]);
  const stack = await startStack({
    dataFolder: ".antrean",
    fresh: values.fresh ?? false,
    postgresUrl: process.env.DEV_POSTGRES_URL,
    qstashUrl,
    ports,
  });
  const url = `http://127.0.0.1:${port}`;
  try {
    await refreshRegistry();
    const server = await serve({
      ...stack.env,
      ...handlerVariables(),
      HOST: "127.0.0.1",
      PORT: String(port),
      PUBLIC_URL: url,
      SWEEP_INTERVAL_SECONDS: String(SWEEP_INTERVAL_SECONDS),
    });
    console.log(banner(url, stack.mailUrl, stack.qstashUrl));
    const sweeps = setInterval(() => void server.sweep(), SWEEP_INTERVAL_SECONDS * 1000);
    await stopSignal();
    clearInterval(sweeps);
    await server.stop(2);
  } finally {
    await stack.close();
  }
}

async function serve(env: Record<string, string>): Promise<NodeServer> {
  // Loaded only now, with the registry that was just written.
  const { startNode } = await import("../src/entry/node.js");
  const writeLog = (line: string): void => {
    const shown = formatLogLine(line);
    if (shown) console.log(shown);
  };
  return startNode(env, { writeLog });
}

/** Tells about every taken port before anything is started. */
async function checkPorts(wanted: Parameters<typeof listen>[1][]): Promise<void> {
  const faults: string[] = [];
  for (const options of wanted) {
    const server = createServer();
    await listen(server, options).catch((error: Error) => faults.push(error.message));
    await close(server);
  }
  if (faults.length > 0) throw new Error(faults.join("\n"));
}

/** Variables of one's own jobs come from the shell; those of the stack would break it. */
function handlerVariables(): Record<string, string> {
  const names = ["WEBHOOK_SIGNING_SECRET", "EMAIL_FROM", "CORS_ORIGINS"];
  const isJobs = (name: string): boolean => names.includes(name) || name.startsWith("JOB_");
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      isJobs(name) && value !== undefined ? [[name, value]] : [],
    ),
  );
}

/** QSTASH_URL where it names a server on this machine: a cloud account is not for local mode. */
function localQstashUrl(): string | undefined {
  const url = process.env.QSTASH_URL;
  if (!url || !URL.canParse(url)) return undefined;
  if (["127.0.0.1", "localhost", "[::1]"].includes(new URL(url).hostname)) return url;
  console.log("QSTASH_URL is not on this machine, so the local stand-in is used instead.");
  return undefined;
}

function portOf(name: string, fallback: number): number {
  const text = process.env[name];
  if (text === undefined || text === "") return fallback;
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new Error(`${name} must be a port from 1 to 65535, not "${text}".`);
}

function banner(url: string, mailUrl: string, qstashUrl: string): string {
  return `
Antrean is ready.

  API        ${url}/api/health
  Dashboard  ${url}/dashboard
  Key        ${DEV_SECRET}   (dev:admin:${DEV_SECRET})
  Mails      ${mailUrl}
  QStash     ${qstashUrl}

Create a job that calls this API's own health route, and look at it:

  curl -s ${url}/api/jobs \\
    -H 'Authorization: Bearer ${DEV_SECRET}' -H 'Content-Type: application/json' \\
    -H "Idempotency-Key: $(date +%s)-$RANDOM" \\
    -d '{"type":"http_request","payload":{"url":"${url}/api/health","method":"GET"}}'

  curl -s -H 'Authorization: Bearer ${DEV_SECRET}' ${url}/api/jobs/<jobId>

Stop with Ctrl+C; the data stays in .antrean/.
`;
}

function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
  });
}

await runProgram(main);
