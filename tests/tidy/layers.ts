/** Which way imports run in `src`: the table of layers in ARCHITECTURE.md, in a form that can fail. */

import { isBuiltin } from "node:module";
import path from "node:path";
import { type Import, importsOf, packageOf, placeOf } from "./syntax.js";
import type { SourceFile } from "./tree.js";

interface Layer {
  /** Other layers, or single modules of them, that it may import. */
  imports: string[];
  /** More of them, for their types only. */
  importsTypes?: string[];
  /** Limits it to these packages. */
  packages?: string[];
}

/** A layer is a folder of `src`, or a file that stands there by itself. */
export const LAYERS: Record<string, Layer> = {
  core: { imports: [], packages: ["zod"] },
  engine: { imports: ["core"] },
  storage: { imports: ["core"] },
  trigger: { imports: ["core"] },
  telemetry: { imports: ["core"] },
  jobs: { imports: ["core/define-job"] },
  http: { imports: ["core", "engine"], importsTypes: ["config", "trigger/verify"] },
  dashboard: { imports: ["core", "engine"] },
  client: { imports: [], importsTypes: ["core"], packages: [] },
  config: { imports: ["core/access", "core/parse"] },
  compose: {
    imports: [
      "config",
      "core",
      "engine",
      "storage",
      "trigger",
      "telemetry",
      "http",
      "dashboard",
      "jobs",
    ],
  },
  // Commands on this machine compose the application as the Node entry does.
  cli: { imports: ["client", "compose", "config", "entry", "jobs/registry.gen"] },
  // The guarded fetch of Node checks each resolved address by the policy that the jobs check URLs by.
  entry: {
    imports: [
      "compose",
      "config",
      "jobs/registry.gen",
      "jobs/outbound/address-policy",
      "jobs/outbound/allow-list",
      "jobs/outbound/ip-address",
      // What the package gives to the code that mounts it.
      "jobs/http_request",
      "jobs/send_email",
      "core/define-job",
      "engine/resolve-job",
    ],
    importsTypes: ["client/jobs", "core/ports"],
  },
  index: { imports: ["compose", "config", "jobs/registry.gen", "entry"] },
};

/** Packages that one place hides from the rest. */
const PACKAGE_LAYERS: Record<string, string[]> = {
  "drizzle-orm": ["storage"],
  "@neondatabase/serverless": ["storage"],
  "@upstash/qstash": ["trigger"],
  hono: ["http", "dashboard", "compose", "entry", "index"],
  "@hono/node-server": ["entry"],
};

/** Everything else also runs in workerd. */
const NODE_LAYERS = ["entry", "cli"];
const WEB_ENTRIES = ["entry/cloudflare", "entry/platform"];

/** What routes answer is declared for the OpenAPI document, which is written at build time. */
const isDescription = (module: string): boolean => /^http\/answers(?:\/|$)/.test(module);

/** Gives a module's path inside `src`, without its ending: `core/job`. */
export function moduleOf(file: string): string {
  return file.replace(/^src\//, "").replace(/\.(?:tsx?|js)$/, "");
}

export function layerOf(module: string): string {
  return module.replace(/\/.*/, "");
}

/** Gives the path that a relative import names, still ending in `.js`. */
export function targetOf(file: SourceFile, specifier: string): string {
  return path.posix.join(path.posix.dirname(file.path), specifier);
}

/** Finds the imports of a file in `src` that its layer forbids. */
export function layerFaults(file: SourceFile): string[] {
  return importsOf(file).flatMap((each) => {
    const fault = layerFault(file, each);
    return fault ? [`${placeOf(file, each)} ${fault}`] : [];
  });
}

function layerFault(file: SourceFile, { specifier, typeOnly }: Import): string | undefined {
  const module = moduleOf(file.path);
  const layer = layerOf(module);
  const rules = LAYERS[layer] ?? { imports: [], packages: [] };
  if (isBuiltin(specifier)) {
    const isAllowed = NODE_LAYERS.includes(layer) && !WEB_ENTRIES.includes(module);
    return isAllowed ? undefined : `${module} must run without Node, and imports ${specifier}`;
  }
  if (!specifier.startsWith(".")) {
    const name = packageOf(specifier);
    const isAllowed = rules.packages?.includes(name) ?? PACKAGE_LAYERS[name]?.includes(layer);
    return isAllowed === false ? `${layer} must not import the package ${name}` : undefined;
  }
  const target = targetOf(file, specifier);
  if (!target.startsWith("src/")) return `src must not import ${target}`;
  const imported = moduleOf(target);
  if (!typeOnly && isDescription(imported) && !isDescription(module)) {
    return `${module} would bundle ${imported}, which only the API's description reads`;
  }
  const allowed = [layer, ...rules.imports, ...(typeOnly ? (rules.importsTypes ?? []) : [])];
  if (allowed.includes(layerOf(imported)) || allowed.includes(imported)) return undefined;
  return `${layer} must not import ${imported}`;
}
