import { readFile } from "node:fs/promises";
import { startNeon } from "../../dev/neon/server.js";
import { createDatabase, dropDatabase, withClient } from "../../dev/postgres/database.js";
import { readMigrations } from "../../src/cli/read-migrations.js";
import { migrate } from "../../src/storage/migrate.js";

/** The database of which every test database is a copy. */
export const TEMPLATE = "antrean_template";

const CLOCK = new URL("clock.sql", import.meta.url);

/** Makes the template anew: the test clock, then the schema of the migrations. */
export async function buildTemplate(adminUrl: string): Promise<void> {
  await dropDatabase(adminUrl, TEMPLATE);
  const url = await createDatabase(adminUrl, TEMPLATE);
  // The clock comes first: PostgreSQL decides when a table is made which now() a default means.
  await withClient(url, async (client) => client.query(await readFile(CLOCK, "utf8")));
  await applyMigrations(url);
  // A database cannot be copied while someone is connected to it, so from here on nobody may.
  await withClient(adminUrl, (client) =>
    client.query(`ALTER DATABASE ${TEMPLATE} ALLOW_CONNECTIONS false`),
  );
}

/** By the production migrator, over the production driver. */
async function applyMigrations(databaseUrl: string): Promise<void> {
  const neon = await startNeon({ databaseUrl });
  try {
    const database = { databaseUrl, databaseHttpUrl: neon.endpoint };
    await migrate(database, await readMigrations());
  } finally {
    await neon.close();
  }
}
