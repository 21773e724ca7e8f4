/** Builds `antrean`, the package's main export, which leaves packages to npm. */

import { readFile, rm } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Bundle } from "./check-bundle.js";
import { writeDeclarations } from "./declarations.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** Where the `exports` of package.json look for it. */
export const MOUNT_FOLDER = path.join(ROOT, "dist/mount");

/** The size only guards against an accident: it runs on servers. */
const GZIP_BYTES_MAX = 200_000;

/**
 * Writes mount.js, its source map and its declarations into an emptied folder.
 *
 * Errors: throws with what the compilers found.
 */
export async function buildMount(folder: string): Promise<Bundle> {
  const manifest = JSON.parse(await readFile(path.join(ROOT, "package.json"), "utf8"));
  const external = Object.keys(manifest.dependencies);
  const file = path.join(folder, "mount.js");
  await rm(folder, { recursive: true, force: true });
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: ["src/entry/mount.ts"],
    outfile: file,
    bundle: true,
    sourcemap: true,
    packages: "external",
    platform: "node",
    format: "esm",
    target: "node20",
    metafile: true,
    logLevel: "warning",
  });
  const lib = "es2024,esnext.array,esnext.iterator,dom,dom.iterable";
  await writeDeclarations({ entry: "entry/mount", folder, lib, types: "node" });
  const rules = { builtins: true, external, gzipBytesMax: GZIP_BYTES_MAX };
  return { name: "Package", file, metafile, rules };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildMount(MOUNT_FOLDER);
