import { randomUUID } from "node:crypto";
import { access, constants, mkdtemp, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { dropDatabase, withClient } from "../../dev/postgres/database.js";
import { startPostgres } from "../../dev/postgres/embedded.js";
import { buildTemplate, TEMPLATE, type Template } from "./template.js";

/** Linux's file system in memory; a container may give it 64 MB, which is not enough. */
const MEMORY_FOLDER = "/dev/shm";
const MEMORY_BYTES_MIN = 4 * 1024 ** 3;

declare module "vitest" {
  export interface ProvidedContext {
    postgresAdminUrl: string;
    /** Names of test databases of this run begin so. */
    databasePrefix: string;
    templateFingerprint: string;
    /** Of the template; a test may have made others. */
    applicationTables: string[];
  }
}

interface Postgres {
  url: string;
  databasePrefix: string;
  template: Template;
  stop(): Promise<void>;
}

/** Starts the one PostgreSQL of a test run, and stops it when the tests have ended. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { url, databasePrefix, template, stop } = await start();
  project.provide("postgresAdminUrl", url);
  project.provide("databasePrefix", databasePrefix);
  project.provide("templateFingerprint", template.fingerprint);
  project.provide("applicationTables", template.tables);
  return stop;
}

async function start(): Promise<Postgres> {
  const databasePrefix = `test_${randomUUID().slice(0, 8)}_`;
  const { url, stop } = process.env.TEST_POSTGRES_URL
    ? borrow(process.env.TEST_POSTGRES_URL, databasePrefix)
    : await startOwn();
  try {
    return { url, databasePrefix, template: await buildTemplate(url), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function borrow(url: string, databasePrefix: string): Pick<Postgres, "url" | "stop"> {
  return {
    url,
    async stop() {
      const { rows } = await withClient(url, (client) =>
        client.query<{ datname: string }>(
          "select datname from pg_database where starts_with(datname, $1)",
          [databasePrefix],
        ),
      );
      for (const { datname } of rows) await dropDatabase(url, datname);
      await dropDatabase(url, TEMPLATE);
    },
  };
}

async function startOwn(): Promise<Pick<Postgres, "url" | "stop">> {
  return startPostgres({
    dataDir: await mkdtemp(join(await fastFolder(), "antrean-test-")),
    persistent: false,
    settings: {
      // Nothing here has to survive a crash of the machine.
      fsync: "off",
      synchronous_commit: "off",
      full_page_writes: "off",
      // It would tell the planner that a table which a test fills next is empty.
      autovacuum: "off",
      // Enough for a full pool in each of as many workers as a machine has cores.
      max_connections: "1000",
    },
  });
}

/** In memory where there is room: a test database is 400 files. */
async function fastFolder(): Promise<string> {
  try {
    await access(MEMORY_FOLDER, constants.W_OK);
    const { bavail, bsize } = await statfs(MEMORY_FOLDER);
    return bavail * bsize >= MEMORY_BYTES_MIN ? MEMORY_FOLDER : tmpdir();
  } catch {
    return tmpdir();
  }
}
