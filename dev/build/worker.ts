/** Bundles the Cloudflare entry with wrangler, exactly as a deployment does. */

import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Metafile } from "esbuild";
import type { Bundle, BundleRules } from "./check-bundle.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
export const WORKER_FOLDER = path.join(ROOT, "dist/worker");
const WRANGLER = path.join(
  path.dirname(createRequire(import.meta.url).resolve("wrangler/package.json")),
  "bin/wrangler.js",
);

/** Of Antrean by itself; start-up time grows with the size. */
const OWN_GZIP_BYTES_MAX = 200_000;
/** Of the smallest plan: https://developers.cloudflare.com/workers/platform/limits/#worker-size */
const PLAN_GZIP_BYTES_MAX = 3_000_000;
const OWN_JOBS = ["http_request", "send_email", "registry.gen"];

/**
 * Writes the bundle of `wrangler.toml`'s entry into an emptied folder; needs no account.
 *
 * Errors: throws with what wrangler printed.
 */
export async function buildWorker(folder: string): Promise<Bundle> {
  const metafile = path.join(folder, "bundle-meta.json");
  await rm(folder, { recursive: true, force: true });
  const options = ["--dry-run", "--outdir", folder, "--metafile", metafile];
  // Not through npx: killing that leaves its children running.
  await promisify(execFile)(process.execPath, [WRANGLER, "deploy", ...options], {
    cwd: ROOT,
    env: { ...process.env, WRANGLER_SEND_METRICS: "false" },
  });
  const bundle = JSON.parse(await readFile(metafile, "utf8")) as Metafile;
  return {
    name: "Worker",
    file: path.join(folder, "cloudflare.js"),
    metafile: bundle,
    rules: rulesFor(bundle),
  };
}

/** The rules for a Worker: whoever adds job types may spend on them what the plan allows. */
export function rulesFor({ inputs }: Pick<Metafile, "inputs">): BundleRules {
  const jobs = Object.keys(inputs).filter((input) => /^src\/jobs\/[^/]+$/.test(input));
  const isOwn = (job: string): boolean => OWN_JOBS.includes(path.basename(job, ".ts"));
  const gzipBytesMax = jobs.every(isOwn) ? OWN_GZIP_BYTES_MAX : PLAN_GZIP_BYTES_MAX;
  return { builtins: false, external: [], gzipBytesMax };
}
