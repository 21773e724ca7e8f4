/** `npm run build`: makes both deployments and the parts of the package, and checks them. */

import path from "node:path";
import { fileURLToPath } from "node:url";
import { runProgram } from "../run-program.js";
import { type Bundle, checkBundle } from "./check-bundle.js";
import { buildCli, CLI_FOLDER } from "./cli.js";
import { buildClient, CLIENT_FOLDER } from "./client.js";
import { buildMount, MOUNT_FOLDER } from "./mount.js";
import { composeRegistry } from "./registry.js";
import { buildVercel, VERCEL_FOLDER } from "./vercel.js";
import { buildWorker, WORKER_FOLDER } from "./worker.js";

const JOBS_FOLDER = fileURLToPath(new URL("../../src/jobs", import.meta.url));

async function main(): Promise<void> {
  const registry = await composeRegistry(JOBS_FOLDER);
  if (registry.stale) {
    throw new Error(`${path.relative(".", registry.file)} is stale: run \`npm run registry\`.`);
  }
  const bundles = await Promise.all([
    buildVercel(VERCEL_FOLDER),
    buildWorker(WORKER_FOLDER),
    buildMount(MOUNT_FOLDER),
    buildClient(CLIENT_FOLDER),
    buildCli(CLI_FOLDER),
  ]);
  const faults = (await Promise.all(bundles.map(report))).flat();
  if (faults.length > 0) throw new Error(`These must not be deployed:\n  ${faults.join("\n  ")}`);
}

async function report(bundle: Bundle): Promise<string[]> {
  const { bytes, gzipBytes, faults } = await checkBundle(bundle);
  const file = path.relative(".", bundle.file);
  console.log(`${bundle.name}: ${file}, ${inKb(bytes)}, ${inKb(gzipBytes)} gzipped`);
  return faults.map((fault) => `${bundle.name}: ${fault}`);
}

function inKb(bytes: number): string {
  return `${(bytes / 1000).toFixed(1)} KB`;
}

await runProgram(main);
