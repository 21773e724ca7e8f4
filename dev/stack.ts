/** The local stack: everything that the application meets in the cloud, on 127.0.0.1. */

import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { resolve } from "node:path";
import { readMigrations } from "../src/cli/read-migrations.js";
import { migrateDatabase } from "../src/compose.js";
import { writeRegistry } from "./build/registry.js";
import { startMailSink } from "./mail/server.js";
import { startNeon } from "./neon/server.js";
import { withClient } from "./postgres/database.js";
import { startPostgres } from "./postgres/embedded.js";
import { startQstash } from "./qstash/start.js";
import { localUsers } from "./qstash/state/users.js";

/** Ports of the stack; 0 takes any free one. */
export interface StackPorts {
  neon: number;
  qstash: number;
  mail: number;
}

export interface StackOptions {
  /** Where Postgres keeps its data. */
  dataFolder: string;
  /** Start without the data of last time. */
  fresh: boolean;
  /** Another Postgres behind the Neon endpoint, instead of the embedded one. */
  postgresUrl: string | undefined;
  /** Another local QStash server, such as the official one, instead of the stand-in. */
  qstashUrl: string | undefined;
  ports: StackPorts;
}

/** A running stack, without the application itself. */
export interface Stack {
  qstashUrl: string;
  mailUrl: string;
  /** The environment of an application on this stack, but for its own address. */
  env: Record<string, string>;
  close(): Promise<void>;
}

/** The key that local mode prints; it opens nothing but this machine. */
export const DEV_SECRET = "antrean-dev-key-0000";

/** Starts Postgres, its Neon endpoint, QStash and the mail sink, and migrates the database. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const closers: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const closer of closers.reverse()) await closer();
  };
  try {
    const databaseUrl = options.postgresUrl ?? (await startDatabase(options, closers));
    const neon = await startNeon({ databaseUrl, port: options.ports.neon });
    closers.push(() => neon.close());
    const qstash = options.qstashUrl ?? (await startTrigger(options, closers));
    const mail = await startMailSink({ port: options.ports.mail });
    closers.push(() => mail.close());
    await migrateData({ databaseUrl, databaseHttpUrl: neon.endpoint }, options);
    if (!options.qstashUrl) await markUnpublished(databaseUrl);
    // A local server's first account is the same in the stand-in and in the official one.
    const [account] = localUsers;
    return {
      qstashUrl: qstash,
      mailUrl: mail.url,
      env: {
        DATABASE_URL: databaseUrl,
        DATABASE_HTTP_URL: neon.endpoint,
        QSTASH_URL: qstash,
        QSTASH_TOKEN: account.token,
        QSTASH_CURRENT_SIGNING_KEY: account.keys.current,
        QSTASH_NEXT_SIGNING_KEY: account.keys.next,
        API_KEYS: `dev:admin:${DEV_SECRET}`,
        CRON_SECRET: "antrean-dev-cron-0000",
        // Local servers are what a developer points jobs at; the guards stay on for other networks.
        OUTBOUND_ALLOW: "127.0.0.1:*,localhost:*",
        RESEND_BASE_URL: mail.url,
        RESEND_API_KEY: "re_local_mail_sink",
        EMAIL_FROM: "Antrean <antrean@example.com>",
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startDatabase(
  options: StackOptions,
  closers: (() => Promise<void>)[],
): Promise<string> {
  const dataDir = resolve(options.dataFolder, "postgres");
  if (options.fresh) await clearData(dataDir);
  await mkdir(options.dataFolder, { recursive: true });
  const postgres = await startPostgres({ dataDir, persistent: true });
  closers.push(() => postgres.stop());
  return postgres.url;
}

/** Deletes the data of last time, unless another stack runs on it: only a server can tell. */
async function clearData(dataDir: string): Promise<void> {
  if (!existsSync(dataDir)) return;
  try {
    const old = await startPostgres({ dataDir, persistent: false });
    await old.stop();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${reason} If nothing runs on ${dataDir}, remove it by hand.`);
  }
}

/** Whoever works on a migration, or goes back to older code, has data that this code cannot have. */
async function migrateData(
  database: Parameters<typeof migrateDatabase>[0],
  { postgresUrl, dataFolder }: StackOptions,
): Promise<void> {
  try {
    await migrateDatabase(database, await readMigrations());
  } catch (cause) {
    // Data in another Postgres is not ours to start without.
    if (postgresUrl) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    const wayOut = `If the data in ${dataFolder} is not needed: npm run dev -- --fresh`;
    throw new Error(`${reason}. ${wayOut}`, { cause });
  }
}

/**
 * Lets the first sweep publish every waiting job: a stand-in that just started has no message of last
 * time. Where jobs of a type still run, it would take ten minutes for one to count as vanished.
 */
async function markUnpublished(databaseUrl: string): Promise<void> {
  const statement = "update jobs set triggered_at = null where next_run_at is not null";
  await withClient(databaseUrl, (client) => client.query(statement));
}

async function startTrigger(
  options: StackOptions,
  closers: (() => Promise<void>)[],
): Promise<string> {
  const qstash = await startQstash({ port: options.ports.qstash, portVariable: "QSTASH_PORT" });
  closers.push(() => qstash.close());
  return qstash.url;
}

/** Writes the registry anew: whoever loads the application afterwards has today's job types. */
export async function refreshRegistry(): Promise<void> {
  await writeRegistry(resolve(import.meta.dirname, "../src/jobs"));
}
