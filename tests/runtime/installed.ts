/** The package as npm packs it, and a project that has installed it. */

import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { cp, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { buildCli } from "../../dev/build/cli.js";
import { buildClient } from "../../dev/build/client.js";
import { buildMount } from "../../dev/build/mount.js";

const run = promisify(execFile);
const ROOT = path.resolve(import.meta.dirname, "../..");

export interface Installed {
  /** A project's folder; it finds other packages where the repository does. */
  project: string;
  /** The package in its node_modules. */
  folder: string;
  tarball: Uint8Array;
  remove(): Promise<void>;
}

/** Builds the package, packs it, and unpacks it into a project of its own. */
export async function installPackage(): Promise<Installed> {
  const project = path.join(ROOT, "node_modules/.cache/antrean", `project-${randomUUID()}`);
  const source = path.join(project, "source");
  const modules = path.join(project, "node_modules");
  await mkdir(source, { recursive: true });
  await mkdir(modules);
  // Without one of its own it would be part of this repository, and find the package there.
  await writeFile(path.join(project, "package.json"), '{"name":"shop","type":"module"}');
  await Promise.all([
    buildMount(path.join(source, "dist/mount")),
    buildClient(path.join(source, "dist/client")),
    buildCli(path.join(source, "dist/cli")),
    ...["package.json", "README.md", "LICENSE", "drizzle"].map((name) =>
      cp(path.join(ROOT, name), path.join(source, name), { recursive: true }),
    ),
  ]);
  const { stdout } = await run("npm", ["pack", "--ignore-scripts", "--json"], { cwd: source });
  const [packed] = Object.values(JSON.parse(stdout) as Record<string, { filename: string }>);
  const file = path.join(source, packed?.filename ?? "");
  await run("tar", ["-xzf", file, "-C", modules]);
  const folder = path.join(modules, "antrean");
  // npm names the folder in its archives so.
  await rename(path.join(modules, "package"), folder);
  const remove = () => rm(project, { recursive: true, force: true });
  return { project, folder, tarball: await readFile(file), remove };
}

/** Type-checks a project's folder by its own tsconfig.json, and gives what the compiler says. */
export async function typeFaults(folder: string): Promise<string> {
  const tsc = path.join(ROOT, "node_modules/typescript/bin/tsc");
  const options = ["--project", folder, "--types", "node", "--singleThreaded"];
  return run(process.execPath, [tsc, ...options]).then(
    ({ stdout }) => stdout,
    (error: { stdout: string }) => error.stdout,
  );
}
