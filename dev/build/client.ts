/** Builds `antrean/client`: one module without imports, and declarations that need no package. */

import { rm } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Bundle, BundleRules } from "./check-bundle.js";
import { writeDeclarations } from "./declarations.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** Where the `exports` of package.json look for it. */
export const CLIENT_FOLDER = path.join(ROOT, "dist/client");

/** It is loaded by browsers, so every kilobyte is somebody's waiting time. */
const RULES: BundleRules = { builtins: false, external: [], gzipBytesMax: 4_000 };

/**
 * Writes client.js, its source map and its declarations into an emptied folder.
 *
 * Errors: throws with what the compilers found.
 */
export async function buildClient(folder: string): Promise<Bundle> {
  const file = path.join(folder, "client.js");
  await rm(folder, { recursive: true, force: true });
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: ["src/client/client.ts"],
    outfile: file,
    bundle: true,
    minify: true,
    sourcemap: true,
    platform: "neutral",
    format: "esm",
    // Node 20, and browsers since 2022.
    target: "es2022",
    metafile: true,
    logLevel: "warning",
  });
  // Callers may have neither Node's types nor the newest library.
  const lib = "es2022,dom,dom.iterable";
  await writeDeclarations({ entry: "client/client", folder, lib, types: "" });
  return { name: "Client", file, metafile, rules: RULES };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildClient(CLIENT_FOLDER);
