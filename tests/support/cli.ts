/** The command line in this process, against a world's application and QStash. */

import type { Io } from "../../src/cli/io.js";
import { run } from "../../src/cli/run.js";
import { CRON_SECRET, KEYS, PUBLIC_URL, type World } from "./world.js";

export interface CliResult {
  code: number;
  stdout: string;
  stderr: string;
}

export interface CliOptions {
  stdin?: string;
  /** Standard output and error are a terminal. */
  isTTY?: boolean;
  env?: Record<string, string>;
  /** In place of the world's application. */
  fetch?: Io["fetch"];
  stop?: AbortSignal;
  sleep?: Io["sleep"];
  now?: Io["now"];
}

/** What of a world a command meets. */
export type CliWorld = Pick<World, "database" | "qstash" | "instance" | "reconciler">;

/** Runs a command as an admin of the world; `cli(world, "jobs", "list")`. */
export async function cli(world: CliWorld, argv: string[], options: CliOptions = {}) {
  const { stdin, isTTY = false } = options;
  const result: CliResult = { code: 0, stdout: "", stderr: "" };
  const sink = (name: "stdout" | "stderr") => ({
    isTTY,
    write: (text: string) => {
      result[name] += text;
    },
  });
  result.code = await run(argv, {
    env: { ...environmentOf(world), ...options.env },
    stdin: Object.assign(chunksOf(stdin), { isTTY: stdin === undefined }),
    stdout: sink("stdout"),
    stderr: sink("stderr"),
    fetch: options.fetch ?? fetchIn(world),
    sleep: options.sleep ?? sleepIn(world),
    now: options.now ?? Date.now,
    stop: options.stop ?? new AbortController().signal,
    application: async () => world.instance.app,
    reconciler: async (env, writeLog) => world.reconciler(env, writeLog),
    migrate: async () => [],
  });
  return result;
}

/** The environment of the deployment, and of whoever calls it. */
export function environmentOf({ database, qstash }: CliWorld): Record<string, string> {
  return {
    ANTREAN_URL: PUBLIC_URL,
    ANTREAN_API_KEY: KEYS.admin,
    DATABASE_URL: database.url,
    DATABASE_HTTP_URL: database.neon.endpoint,
    QSTASH_URL: qstash.url,
    QSTASH_TOKEN: qstash.token,
    QSTASH_CURRENT_SIGNING_KEY: qstash.keys().current,
    QSTASH_NEXT_SIGNING_KEY: qstash.keys().next,
    PUBLIC_URL,
    API_KEYS: `ops:admin:${KEYS.admin}`,
    CRON_SECRET,
  };
}

/** The deployment's address leads to its application; everything else is a real server. */
export function fetchIn(world: CliWorld): Io["fetch"] {
  return (request) =>
    request.url.startsWith(PUBLIC_URL) ? world.instance.fetch(request) : fetch(request);
}

/** Waits pass at once, and let the world work; the limits of tries last until they are called off. */
function sleepIn(world: CliWorld): Io["sleep"] {
  return async (milliseconds, signal) => {
    if (milliseconds < 30_000) await world.qstash.deliverDue();
    else await new Promise((resolve) => signal?.addEventListener("abort", resolve));
  };
}

async function* chunksOf(text = ""): AsyncGenerator<string, void> {
  yield text;
}
