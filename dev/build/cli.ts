/** Builds the command line: `antrean` of the package, which leaves packages to npm. */

import { readFile, rm } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Bundle } from "./check-bundle.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** As deep as `src/cli`: the migrations are found two folders up from either. */
export const CLI_FOLDER = path.join(ROOT, "dist/cli");

/** Of the part that every command loads. */
const GZIP_BYTES_MAX = 30_000;

/** Writes antrean.js and the parts that it loads when a command needs them. */
export async function buildCli(folder: string): Promise<Bundle> {
  const manifest = JSON.parse(await readFile(path.join(ROOT, "package.json"), "utf8"));
  const external = Object.keys(manifest.dependencies);
  await rm(folder, { recursive: true, force: true });
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: { antrean: "src/cli/main.ts" },
    outdir: folder,
    chunkNames: "part-[hash]",
    bundle: true,
    // So that a command that only calls the API does not load database driver and QStash client.
    splitting: true,
    packages: "external",
    platform: "node",
    format: "esm",
    target: "node20",
    metafile: true,
    logLevel: "warning",
  });
  const file = path.join(folder, "antrean.js");
  return {
    name: "CLI",
    file,
    metafile,
    rules: { builtins: true, external, gzipBytesMax: GZIP_BYTES_MAX },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildCli(CLI_FOLDER);
