/** The migration files of this package. */

import { readdir, readFile } from "node:fs/promises";

const FOLDER = new URL("../../drizzle/", import.meta.url);

/** Reads every migration: its file name without `.sql`, and its text. */
export async function readMigrations(): Promise<{ name: string; text: string }[]> {
  const files = (await readdir(FOLDER)).filter((file) => file.endsWith(".sql"));
  return Promise.all(
    files.map(async (file) => ({
      name: file.replace(/\.sql$/, ""),
      text: await readFile(new URL(file, FOLDER), "utf8"),
    })),
  );
}
