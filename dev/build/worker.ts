/** Bundles the Cloudflare entry with wrangler, exactly as a deployment does. */

import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Bundle, BundleRules } from "./check-bundle.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
export const WORKER_FOLDER = path.join(ROOT, "dist/worker");
const WRANGLER = path.join(
  path.dirname(createRequire(import.meta.url).resolve("wrangler/package.json")),
  "bin/wrangler.js",
);

/** Start-up time grows with the size; the plans' own limits are far above. */
const RULES: BundleRules = { builtins: false, external: [], gzipBytesMax: 200_000 };

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
  return {
    name: "Worker",
    file: path.join(folder, "cloudflare.js"),
    metafile: JSON.parse(await readFile(metafile, "utf8")),
    rules: RULES,
  };
}
