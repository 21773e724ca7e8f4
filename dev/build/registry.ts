/**
 * Generates `registry.gen.ts` from the job files of a folder, so that a new job type is one new
 * file and nothing else. Run as a program it takes src/jobs; `--check` only compares.
 */

import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { JOB_TYPE_PATTERN } from "../../src/core/job.js";
import { runProgram } from "../run-program.js";

const GENERATED_NAME = "registry.gen.ts";
const JOBS_FOLDER = fileURLToPath(new URL("../../src/jobs", import.meta.url));
/** Beside the packages, so that a copy of a job file finds those that it imports. */
const COPIES_FOLDER = fileURLToPath(new URL("../../node_modules/.cache/antrean", import.meta.url));

export interface RegistryText {
  file: string;
  types: string[];
  text: string;
  /** The file does not hold this text yet. */
  stale: boolean;
}

interface JobFile {
  name: string;
  type: string;
}

/**
 * Writes the folder's registry if it differs from what is there.
 *
 * Errors: throws one error that names every faulty file and what is wrong with it.
 */
export async function writeRegistry(folder: string): Promise<RegistryText> {
  const registry = await composeRegistry(folder);
  // An untouched file wakes no watcher.
  if (registry.stale) await writeFile(registry.file, registry.text);
  return registry;
}

/** Composes the folder's registry and compares it with the file that is there. */
export async function composeRegistry(folder: string): Promise<RegistryText> {
  const types = (await readJobFiles(folder)).map(({ type }) => type);
  const text = registryText(types);
  const file = path.join(folder, GENERATED_NAME);
  const present = await readFile(file, "utf8").catch(() => undefined);
  return { file, types, text, stale: present !== text };
}

async function readJobFiles(folder: string): Promise<JobFile[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile() && isCode(entry.name))
    .map((entry) => entry.name)
    .sort();
  const faults: string[] = [];
  const files: JobFile[] = [];
  for (const name of names) {
    try {
      files.push({ name, type: await readType(folder, name) });
    } catch (error) {
      faults.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  faults.push(...duplicateFaults(files), ...nameFaults(files));
  if (faults.length === 0) return files;
  throw new Error(`The job files in ${folder} need a change:\n  ${faults.join("\n  ")}`);
}

function isCode(name: string): boolean {
  return /\.[cm]?[jt]sx?$/.test(name) && !/\.(?:gen|d)\.[cm]?ts$/.test(name);
}

/** Gives the type that a job file defines: what runs decides, not how it is written. */
async function readType(folder: string, name: string): Promise<string> {
  if (!name.endsWith(".ts")) throw new Error("a job file ends in .ts");
  if (!JOB_TYPE_PATTERN.test(path.basename(name, ".ts"))) {
    throw new Error(`a job file is named after its type, which matches ${JOB_TYPE_PATTERN.source}`);
  }
  const definition = memberOf(await loadFresh(path.join(folder, name)), "default");
  const type = memberOf(definition, "type");
  const isDefinition =
    typeof memberOf(definition, "run") === "function" &&
    typeof memberOf(definition, "leaseSeconds") === "number";
  if (!isDefinition || typeof type !== "string") {
    throw new Error("has no default export made by defineJob");
  }
  return type;
}

/**
 * Loads a bundled copy under a name of its own: a process that generates again after a change must
 * not be handed the modules it loaded first, those that the job file imports included.
 */
async function loadFresh(file: string): Promise<unknown> {
  const copy = path.join(COPIES_FOLDER, `${randomUUID()}.mjs`);
  await mkdir(COPIES_FOLDER, { recursive: true });
  try {
    await build({
      entryPoints: [file],
      outfile: copy,
      bundle: true,
      packages: "external",
      platform: "node",
      format: "esm",
      logLevel: "silent",
    });
    return await import(pathToFileURL(copy).href);
  } finally {
    await rm(copy, { force: true });
  }
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

function duplicateFaults(files: JobFile[]): string[] {
  const byType = Map.groupBy(files, ({ type }) => type);
  return [...byType]
    .filter(([, sharing]) => sharing.length > 1)
    .map(([type, sharing]) => {
      const names = sharing.map(({ name }) => name).join(" and ");
      return `${names}: both define the type "${type}"; a type belongs to one file`;
    });
}

function nameFaults(files: JobFile[]): string[] {
  return files
    .filter(({ name, type }) => name !== `${type}.ts`)
    .map(({ name, type }) => `${name}: defines the type "${type}"; rename the file or the type`);
}

function registryText(types: string[]): string {
  const lines = [
    "// Generated by `npm run registry` from the job files in this folder. Do not edit.",
    "",
    'import type { JobDefinition, Registry } from "../core/define-job.js";',
    ...types.map((type) => `import ${identifierOf(type)} from "./${type}.js";`),
    "",
    "/** Every job type of this deployment by its name. */",
    "export const registry: Registry = new Map<string, JobDefinition>([",
    ...types.map((type) => `  ["${type}", ${identifierOf(type)}],`),
    "]);",
    "",
    "/** Their definitions, for the types of a client: `createClient<Jobs>(…)`. */",
    "export interface Jobs {",
    ...types.map((type) => `  "${type}": typeof ${identifierOf(type)};`),
    "}",
    "",
  ];
  return lines.join("\n");
}

/** The prefix keeps clear of reserved words, `$` of `a.b` and `a_b` becoming one name. */
function identifierOf(type: string): string {
  return `job_${type.replaceAll(".", "$")}`;
}

async function main(): Promise<void> {
  if (!process.argv.includes("--check")) {
    const { file, types, stale } = await writeRegistry(JOBS_FOLDER);
    console.log(
      `${path.relative(".", file)} ${stale ? "written" : "is up to date"}: ${types.join(", ")}`,
    );
    return;
  }
  const { file, stale } = await composeRegistry(JOBS_FOLDER);
  if (!stale) return;
  console.error(`${path.relative(".", file)} is stale: run \`npm run registry\` and commit it.`);
  process.exitCode = 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await runProgram(main);
}
