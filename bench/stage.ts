/** A database of one's own with the application's schema, for as long as a benchmark runs. */

import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { startNeon } from "../dev/neon/server.js";
import { startPostgres } from "../dev/postgres/embedded.js";
import { readMigrations } from "../src/cli/read-migrations.js";
import { createDatabase, type Database } from "../src/storage/client.js";
import { migrate } from "../src/storage/migrate.js";

export interface Stage {
  /** A direct way, without a time limit on statements. */
  client: pg.Client;
  /** The way that the application takes. */
  database: Database;
  /** The same way, as an application's settings. */
  env: { DATABASE_URL: string; DATABASE_HTTP_URL: string };
}

export interface StageOptions {
  /** Server settings, over those of the local mode. */
  settings?: Record<string, string>;
  /** Runs before the migrations, such as a clock that can be moved. */
  before?: string;
}

/** Runs the work, and removes the database after it. */
export async function onStage(
  { settings = {}, before }: StageOptions,
  work: (stage: Stage) => Promise<void>,
): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), "antrean-bench-"));
  const postgres = await startPostgres({ dataDir, persistent: false, settings });
  const neon = await startNeon({ databaseUrl: postgres.url });
  const client = new pg.Client({ connectionString: postgres.url });
  const way = { databaseUrl: postgres.url, databaseHttpUrl: neon.endpoint };
  try {
    if (before) await prepare(postgres.url, before);
    await migrate(way, await readMigrations());
    await client.connect();
    await client.query("set statement_timeout = 0");
    const sleep = async (): Promise<void> => {};
    await work({
      client,
      database: createDatabase({ ...way, timeoutSeconds: 10, sleep }),
      env: { DATABASE_URL: postgres.url, DATABASE_HTTP_URL: neon.endpoint },
    });
  } finally {
    await client.end();
    await neon.close();
    await postgres.stop();
  }
}

/** On a connection of its own, since settings of the database apply to new ones. */
async function prepare(connectionString: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query(text);
  await client.end();
}
