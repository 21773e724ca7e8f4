/**
 * Bundles the Vercel entry, since Vercel's builder would transpile file by file, needing every
 * import to be spelled its way. `vercel.json` runs this file as its build command.
 */

import { mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Bundle, BundleRules } from "./check-bundle.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** The `outputDirectory` of `vercel.json`. */
export const VERCEL_FOLDER = path.join(ROOT, "dist/vercel");

/** The builder adds hono from node_modules. The size only guards against an accident. */
const RULES: BundleRules = { builtins: true, external: ["hono"], gzipBytesMax: 1_000_000 };

/** Writes the bundle, under a name that Vercel's builder looks for, into an emptied folder. */
export async function buildVercel(folder: string): Promise<Bundle> {
  const file = path.join(folder, "index.js");
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  // The nearest package.json decides how Node and the builder read the file.
  await writeFile(path.join(folder, "package.json"), '{ "type": "module" }\n');
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: ["src/index.ts"],
    outfile: file,
    bundle: true,
    // The builder takes a file for the entry only if it imports this literally.
    external: RULES.external,
    platform: "node",
    format: "esm",
    target: "node22",
    metafile: true,
    logLevel: "warning",
  });
  return { name: "Vercel", file, metafile, rules: RULES };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildVercel(VERCEL_FOLDER);
