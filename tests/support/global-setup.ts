import { access, constants, mkdtemp, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { dropDatabase } from "../../dev/postgres/database.js";
import { startPostgres } from "../../dev/postgres/embedded.js";
import { buildTemplate, TEMPLATE } from "./template.js";

/** Linux's file system in memory; a container may give it 64 MB, which is not enough. */
const MEMORY_FOLDER = "/dev/shm";
const MEMORY_BYTES_MIN = 4 * 1024 ** 3;

declare module "vitest" {
  export interface ProvidedContext {
    postgresAdminUrl: string;
  }
}

interface Postgres {
  url: string;
  stop(): Promise<void>;
}

// Vitest loads this file once for each project, so what is shared cannot be a variable of it.
const run = globalThis as typeof globalThis & {
  antreanTestPostgres?: { projects: number; postgres: Promise<Postgres> };
};

/** Starts the one PostgreSQL of a test run with the first project, and stops it with the last. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | void> {
  // It needs none, and has to start at once.
  if (project.name === "pure") return;
  run.antreanTestPostgres ??= { projects: 0, postgres: start() };
  const shared = run.antreanTestPostgres;
  shared.projects++;
  const { url, stop } = await shared.postgres;
  project.provide("postgresAdminUrl", url);
  return async () => {
    shared.projects--;
    if (shared.projects > 0) return;
    delete run.antreanTestPostgres;
    await stop();
  };
}

async function start(): Promise<Postgres> {
  const postgres = process.env.TEST_POSTGRES_URL
    ? borrow(process.env.TEST_POSTGRES_URL)
    : await startOwn();
  try {
    await buildTemplate(postgres.url);
  } catch (error) {
    await postgres.stop();
    throw error;
  }
  return postgres;
}

function borrow(url: string): Postgres {
  return { url, stop: () => dropDatabase(url, TEMPLATE) };
}

async function startOwn(): Promise<Postgres> {
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

/** In memory where there is room: each test file makes and removes a database of 400 files. */
async function fastFolder(): Promise<string> {
  try {
    await access(MEMORY_FOLDER, constants.W_OK);
    const { bavail, bsize } = await statfs(MEMORY_FOLDER);
    return bavail * bsize >= MEMORY_BYTES_MIN ? MEMORY_FOLDER : tmpdir();
  } catch {
    return tmpdir();
  }
}
