/** Everything that a soak runs on: Postgres, Neon and QStash stand-ins, processes, the journal. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { type NeonStandIn, startNeon } from "../../dev/neon/server.js";
import { createDatabase, withClient } from "../../dev/postgres/database.js";
import { startPostgres } from "../../dev/postgres/embedded.js";
import { type Qstash, startQstash } from "../../dev/qstash/start.js";
import { readMigrations } from "../../src/cli/read-migrations.js";
import { migrateDatabase } from "../../src/compose.js";
import { installClock } from "./clocks.js";
import { type Deliveries, trackDeliveries } from "./deliveries.js";
import { Fleet } from "./fleet.js";
import { type Journal, openJournal } from "./journal.js";
import type { SoakOptions } from "./options.js";
import type { Random } from "./random.js";

/** Nothing answers here: deliveries are sent to one of the processes. */
const PUBLIC_URL = "http://soak.test";
export const CRON_SECRET = "soak-cron-secret-000";
export const KEYS = { admin: "soak-admin-secret-00", writer: "soak-writer-secret-0" } as const;

/** Postgres takes 200 connections; some are ours. */
const CONNECTIONS_FOR_PROCESSES = 150;

export interface Stage {
  pool: pg.Pool;
  /** One for each process, so that one of them can lose its database alone. */
  neons: NeonStandIn[];
  qstash: Qstash;
  deliveries: Deliveries;
  fleet: Fleet;
  journal: Journal;
  journalPath: string;
  close(): Promise<void>;
}

/** Starts everything, or nothing. */
export async function startStage(options: SoakOptions, random: Random): Promise<Stage> {
  const closers: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  try {
    return await build(options, random, closers, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function build(
  options: SoakOptions,
  random: Random,
  closers: (() => Promise<unknown>)[],
  close: () => Promise<void>,
): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), "antrean-soak-"));
  closers.push(() => rm(folder, { recursive: true, force: true }));
  // With fsync, as in production: a commit that was answered is on the disk.
  const postgres = await startPostgres({ dataDir: join(folder, "postgres"), persistent: false });
  closers.push(() => postgres.stop());
  const databaseUrl = await createDatabase(postgres.url, "soak");
  const startAtMs = Date.now();
  await withClient(databaseUrl, (client) =>
    installClock(client, { startAtMs, speed: options.speed }),
  );
  const qstash = await startQstash({
    mode: "live",
    speed: options.speed,
    startAt: startAtMs,
    seed: options.seed,
    deliver: (request) => deliveries.send(request),
  });
  closers.push(() => qstash.close());
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 5 });
  pool.on("error", () => {});
  closers.push(() => pool.end());
  const neons: NeonStandIn[] = [];
  for (let n = 0; n < options.processes; n += 1) {
    const maxConnections = Math.floor(CONNECTIONS_FOR_PROCESSES / options.processes);
    const neon = await startNeon({ databaseUrl, maxConnections });
    closers.push(() => neon.close());
    neons.push(neon);
  }
  const [first] = neons;
  if (!first) throw new Error("a soak needs at least one process");
  await migrateDatabase({ databaseUrl, databaseHttpUrl: first.endpoint }, await readMigrations());
  const journalPath = join(folder, "journal.jsonl");
  const journal = openJournal(journalPath);
  const fleet = await Fleet.start({
    appPath: join(folder, "app.mjs"),
    environments: neons.map((neon, n) => ({
      ...environment(databaseUrl, neon, qstash),
      SOAK_JOURNAL: journalPath,
      SOAK_SPEED: String(options.speed),
      SOAK_PROCESS: `p${n + 1}`,
    })),
  });
  closers.push(() => fleet.close());
  const deliveries = trackDeliveries(fleet, qstash, random.fork("deliveries"));
  return { pool, neons, qstash, deliveries, fleet, journal, journalPath, close };
}

function environment(
  databaseUrl: string,
  neon: NeonStandIn,
  qstash: Qstash,
): Record<string, string> {
  const { current, next } = qstash.keys();
  return {
    DATABASE_URL: databaseUrl,
    DATABASE_HTTP_URL: neon.endpoint,
    QSTASH_URL: qstash.url,
    QSTASH_TOKEN: qstash.token,
    QSTASH_CURRENT_SIGNING_KEY: current,
    QSTASH_NEXT_SIGNING_KEY: next,
    PUBLIC_URL,
    API_KEYS: `ops:admin:${KEYS.admin},acme:write:${KEYS.writer}`,
    CRON_SECRET,
  };
}
