/** `npm run db:migrate`: brings a database to the newest migration. */

import { readdir, readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { migrateDatabase } from "../compose.js";

const FOLDER = new URL("../../drizzle/", import.meta.url);

/** Reads the migration files of this package. */
export async function readMigrations(): Promise<{ name: string; text: string }[]> {
  const files = (await readdir(FOLDER)).filter((file) => file.endsWith(".sql"));
  return Promise.all(
    files.map(async (file) => ({
      name: file.replace(/\.sql$/, ""),
      text: await readFile(new URL(file, FOLDER), "utf8"),
    })),
  );
}

async function main(): Promise<void> {
  const databaseUrl = process.env.DATABASE_URL;
  if (!databaseUrl) throw new Error("DATABASE_URL is missing: set it to the database to migrate.");
  const databaseHttpUrl = process.env.DATABASE_HTTP_URL;
  const applied = await migrateDatabase({ databaseUrl, databaseHttpUrl }, await readMigrations());
  console.log(applied.length > 0 ? `Applied ${applied.join(", ")}.` : "Nothing to apply.");
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  main().catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  });
}
