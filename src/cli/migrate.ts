/** `npm run db:migrate`: brings a database to the newest migration. */

import { migrateDatabase } from "../compose.js";
import { readMigrations } from "./read-migrations.js";

async function main(): Promise<void> {
  const databaseUrl = process.env.DATABASE_URL;
  if (!databaseUrl) throw new Error("DATABASE_URL is missing: set it to the database to migrate.");
  const databaseHttpUrl = process.env.DATABASE_HTTP_URL;
  const applied = await migrateDatabase({ databaseUrl, databaseHttpUrl }, await readMigrations());
  console.log(applied.length > 0 ? `Applied ${applied.join(", ")}.` : "Nothing to apply.");
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
