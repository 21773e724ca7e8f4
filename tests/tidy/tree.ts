/** The files of this repository, as the rules read them. */

import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** A text file; `path` is relative to the repository, with forward slashes. */
export interface SourceFile {
  path: string;
  text: string;
}

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Names in .gitignore; read here, so that a copy without git can be tested as well. */
const IGNORED = [
  ".git",
  ...readText(".gitignore")
    .split("\n")
    .map((line) => line.replace(/\/$/, ""))
    .filter(Boolean),
];

/** Every file that is committed, or would be. */
export const PATHS: readonly string[] = pathsIn("");

export function readText(relativePath: string): string {
  return readFileSync(path.join(ROOT, relativePath), "utf8");
}

const sources = new Map<string, SourceFile>();

/** Gives a file, which is the same object each time, so that it is parsed once. */
export function sourceOf(relativePath: string): SourceFile {
  const present = sources.get(relativePath);
  if (present) return present;
  const source = { path: relativePath, text: readText(relativePath) };
  sources.set(relativePath, source);
  return source;
}

/** Gives the files below the folders whose names have one of the endings. */
export function filesIn(folders: string[], endings: string[] = [".ts", ".tsx"]): SourceFile[] {
  return PATHS.filter(
    (each) =>
      folders.some((folder) => each.startsWith(`${folder}/`)) &&
      endings.some((ending) => each.endsWith(ending)),
  ).map(sourceOf);
}

function pathsIn(folder: string): string[] {
  return readdirSync(path.join(ROOT, folder), { withFileTypes: true })
    .filter(({ name }) => !IGNORED.some((pattern) => path.matchesGlob(name, pattern)))
    .flatMap((entry) => {
      const relativePath = path.posix.join(folder, entry.name);
      return entry.isDirectory() ? pathsIn(relativePath) : [relativePath];
    });
}
