import { readdir, readFile } from "node:fs/promises";
import type pg from "pg";
import { createDatabase, dropDatabase, withClient } from "../../dev/postgres/database.js";

/** The database of which every test database is a copy. */
export const TEMPLATE = "antrean_template";

const MIGRATIONS = new URL("../../drizzle/", import.meta.url);
const CLOCK = new URL("clock.sql", import.meta.url);

/** Makes the template anew: the test clock, then the schema of the migrations. */
export async function buildTemplate(adminUrl: string): Promise<void> {
  await dropDatabase(adminUrl, TEMPLATE);
  const url = await createDatabase(adminUrl, TEMPLATE);
  // The clock comes first: PostgreSQL decides when a table is made which now() a default means.
  await withClient(url, async (client) => client.query(await readFile(CLOCK, "utf8")));
  // A new connection, because a database's settings are read when it is opened.
  await withClient(url, applyMigrations);
  // A database cannot be copied while someone is connected to it, so from here on nobody may.
  await withClient(adminUrl, (client) =>
    client.query(`ALTER DATABASE ${TEMPLATE} ALLOW_CONNECTIONS false`),
  );
}

async function applyMigrations(client: pg.Client): Promise<void> {
  const files = (await readdir(MIGRATIONS)).filter((name) => name.endsWith(".sql")).sort();
  for (const file of files) {
    const sql = await readFile(new URL(file, MIGRATIONS), "utf8");
    try {
      await client.query("BEGIN");
      for (const statement of sql.split("--> statement-breakpoint")) await client.query(statement);
      await client.query("COMMIT");
    } catch (error) {
      throw new Error(`drizzle/${file} failed: ${(error as Error).message}`, { cause: error });
    }
  }
}
