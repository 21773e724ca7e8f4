/** Builds `antrean/client`: one module without imports, and declarations that need no package. */

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import type { Bundle, BundleRules } from "./check-bundle.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** Where the `exports` of package.json look for it. */
export const CLIENT_FOLDER = path.join(ROOT, "dist/client");
const TSC = path.join(ROOT, "node_modules/typescript/bin/tsc");

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
  const emitted = await mkdtemp(path.join(tmpdir(), "antrean-client-"));
  try {
    await emitDeclarations(emitted);
    await copyDeclarations(emitted, folder);
  } finally {
    await rm(emitted, { recursive: true });
  }
  return { name: "Client", file, metafile, rules: RULES };
}

/** Compiles without Node's types and the rest of our settings: callers may have neither. */
async function emitDeclarations(folder: string): Promise<void> {
  const entry = path.join(ROOT, "src/client/client.ts");
  const what = ["--ignoreConfig", "--declaration", "--emitDeclarationOnly", "--strict"];
  const where = ["--rootDir", path.join(ROOT, "src"), "--outDir", folder];
  const platform = ["--module", "nodenext", "--target", "es2022", "--types", ""];
  const lib = ["--lib", "es2022,dom,dom.iterable"];
  await promisify(execFile)(process.execPath, [
    ...[TSC, entry, ...what],
    ...[...where, ...platform, ...lib],
  ]).catch((error: Error & { stdout?: string }) => {
    throw new Error(`The client does not compile:\n${error.stdout ?? error.message}`);
  });
}

/** Copies the entry's declarations and those that it reaches; what it takes from core lies below. */
async function copyDeclarations(from: string, to: string): Promise<void> {
  const reached = new Set(["client/client"]);
  for (const module of reached) {
    const text = await readFile(path.join(from, `${module}.d.ts`), "utf8");
    for (const [, target = ""] of text.matchAll(/ from "(\.[^"]+)\.js"/g)) {
      reached.add(path.posix.join(path.posix.dirname(module), target));
    }
    const moved = text.replaceAll('from "../core/', 'from "./core/');
    const target = path.join(to, `${module.replace(/^client\//, "")}.d.ts`);
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, moved);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildClient(CLIENT_FOLDER);
