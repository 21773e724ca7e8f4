/** Writes the declarations of a part of the package: those of its entry, and what they reach. */

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const TSC = path.join(ROOT, "node_modules/typescript/bin/tsc");

export interface DeclarationOptions {
  /** A module of `src`, without its ending: `client/client`. */
  entry: string;
  /** The emptied folder of the part; the modules of the entry's own folder come to lie in it. */
  folder: string;
  /** The compiler's `--lib` and `--types`: what the part's callers are sure to have. */
  lib: string;
  types: string;
}

/**
 * Writes the declarations, which need no settings of ours.
 *
 * Errors: throws with what the compiler found.
 */
export async function writeDeclarations(options: DeclarationOptions): Promise<void> {
  const emitted = await mkdtemp(path.join(tmpdir(), "antrean-declarations-"));
  try {
    await compile(options, emitted);
    await copyReached(options, emitted);
  } finally {
    await rm(emitted, { recursive: true });
  }
}

/** Compiles without our own settings, which callers do not have. */
async function compile({ entry, lib, types }: DeclarationOptions, folder: string): Promise<void> {
  const file = path.join(ROOT, "src", `${entry}.ts`);
  const what = ["--ignoreConfig", "--declaration", "--emitDeclarationOnly", "--strict"];
  const where = ["--rootDir", path.join(ROOT, "src"), "--outDir", folder];
  const platform = ["--module", "nodenext", "--target", "es2022", "--skipLibCheck"];
  const pages = ["--jsx", "react-jsx", "--jsxImportSource", "hono/jsx"];
  await promisify(execFile)(
    process.execPath,
    [TSC, file, ...what, ...where, ...platform, ...pages, "--lib", lib, "--types", types],
    // The compiler looks for the named types from here.
    { cwd: ROOT },
  ).catch((error: Error & { stdout?: string }) => {
    throw new Error(`src/${entry}.ts does not compile:\n${error.stdout ?? error.message}`);
  });
}

/** Copies what the entry reaches; what it takes from other layers comes to lie below it. */
async function copyReached({ entry, folder }: DeclarationOptions, emitted: string): Promise<void> {
  const own = `${path.posix.dirname(entry)}/`;
  const reached = new Set([entry]);
  for (const module of reached) {
    const text = await readFile(path.join(emitted, `${module}.d.ts`), "utf8");
    for (const [, target = ""] of text.matchAll(/(?: from |\bimport\()"(\.[^"]+)\.js"/g)) {
      reached.add(path.posix.join(path.posix.dirname(module), target));
    }
    const isOwn = module.startsWith(own);
    const moved = isOwn ? text.replaceAll(/( from |\bimport\()"\.\.\//g, '$1"./') : text;
    const target = path.join(folder, `${isOwn ? module.slice(own.length) : module}.d.ts`);
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, moved);
  }
}
