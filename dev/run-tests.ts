/** `npm test`: types, lint, then the tests of every tier; the last line counts all of them. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { findChromium } from "./chromium.js";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

const TSC = "node_modules/typescript/bin/tsc";

/**
 * Memory in pages of 2 MB where the system lends them: a quarter fewer page faults.
 * https://sourceware.org/glibc/manual/latest/html_node/Memory-Allocation-Tunables.html
 */
const HUGE_PAGES = { GLIBC_TUNABLES: "glibc.malloc.hugetlb=1" };

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

const NOTHING: Counts = { passed: 0, failed: 0, skipped: 0 };

/** What we read of the report that Vitest writes. */
interface VitestReport {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  testResults: { status: string; assertionResults: { status: string }[] }[];
}

/** Programs that run at this moment; a signal to us is one to them. */
const running = new Set<ChildProcess>();
let interrupted = false;

interface Check {
  title: string;
  passed: boolean;
  output: string;
  seconds: number;
}

function runChecks(): Promise<Check[]> {
  return Promise.all([
    // Its threads would do half the work again, and the tests need the cores.
    runCheck("Types: tsc --noEmit", [TSC, "--noEmit", "--singleThreaded"]),
    runCheck("Lint: biome check .", ["node_modules/@biomejs/biome/bin/biome", "check", "."]),
  ]);
}

async function runCheck(title: string, command: string[]): Promise<Check> {
  const startedMs = performance.now();
  const { code, output } = await run(command, "collect");
  const seconds = (performance.now() - startedMs) / 1000;
  return { title, passed: code === 0, output, seconds };
}

/** Tells how the checks went, and counts each as one test. */
function countChecks(checks: Check[]): Counts {
  for (const { title, passed, output, seconds } of checks) {
    heading(title);
    if (!passed) process.stdout.write(output);
    console.log(`${passed ? "passed" : "FAILED"} in ${seconds.toFixed(1)} s`);
  }
  const passed = checks.filter((check) => check.passed).length;
  return { passed, failed: checks.length - passed, skipped: 0 };
}

async function runTests(args: string[]): Promise<Counts> {
  heading(["Tests: vitest run", ...args].join(" "));
  const folder = await mkdtemp(path.join(tmpdir(), "antrean-report-"));
  const report = path.join(folder, "vitest.json");
  try {
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
    const command = ["node_modules/vitest/vitest.mjs", "run", ...reporters, ...tiersLeftOut()];
    const { code } = await run([...command, ...args], "show");
    return interrupted ? NOTHING : await countTests(report, code);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Tests in a browser need one that is installed; it is too big to come with the packages. */
function tiersLeftOut(): string[] {
  if (globSync("tests/e2e/**/*.test.ts", { cwd: ROOT }).length === 0 || findChromium()) return [];
  console.log("Chromium is missing: the tier e2e is LEFT OUT. Install chromium-headless-shell.");
  return ["--exclude=tests/e2e/**"];
}

/**
 * Counts from Vitest's own report.
 *
 * Shape: a file that could not be loaded counts as one failed test, and so does a run that failed
 *        with none that failed: an unhandled error, or nothing to run.
 */
async function countTests(report: string, code: number): Promise<Counts> {
  const text = await readFile(report, "utf8").catch(() => undefined);
  const found = text === undefined ? undefined : (JSON.parse(text) as VitestReport);
  const passed = found?.numPassedTests ?? 0;
  const brokenFiles = (found?.testResults ?? []).filter(
    ({ status, assertionResults }) =>
      status === "failed" && !assertionResults.some((each) => each.status === "failed"),
  );
  let failed = (found?.numFailedTests ?? 0) + brokenFiles.length;
  if (failed === 0 && (code !== 0 || passed === 0)) {
    console.log(passed === 0 ? "No test ran." : `No test failed, but Vitest did (code ${code}).`);
    failed = 1;
  }
  return { passed, failed, skipped: (found?.numPendingTests ?? 0) + (found?.numTodoTests ?? 0) };
}

/** Runs a program of `node_modules` to its end; without npx, which leaves its child when it is ended. */
async function run(
  command: string[],
  outputMode: "collect" | "show",
): Promise<{ code: number; output: string }> {
  if (interrupted) return { code: 1, output: "" };
  const stdio = outputMode === "show" ? "inherit" : "pipe";
  const child = spawn(process.execPath, command, {
    cwd: ROOT,
    env: { ...HUGE_PAGES, ...process.env },
    stdio: ["ignore", stdio, stdio],
  });
  running.add(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk;
    });
  }
  const [code] = (await once(child, "close")) as [number | null];
  running.delete(child);
  return { code: code ?? 1, output };
}

function endChildren(signal: NodeJS.Signals): void {
  for (const child of running) child.kill(signal);
}

/** Longer than Postgres takes to stop; what still runs then hangs. */
const STOP_SECONDS_MAX = 20;

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    // Terminals and npm both pass a signal on, so it may come twice.
    if (interrupted) return;
    interrupted = true;
    endChildren(signal);
    setTimeout(() => endChildren("SIGKILL"), STOP_SECONDS_MAX * 1000).unref();
  });
}

function heading(title: string): void {
  console.log(`\n=== ${title}`);
}

// At once: while the tests start, and wait for a Postgres of their own, a core would be idle.
const checking = runChecks();
const tests = await runTests(process.argv.slice(2));
const found = await checking;
if (interrupted) {
  console.log("\nInterrupted.");
  process.exitCode = 130;
} else {
  const checks = countChecks(found);
  const passed = checks.passed + tests.passed;
  const failed = checks.failed + tests.failed;
  const skipped = tests.skipped > 0 ? `, ${tests.skipped} skipped` : "";
  console.log(`\n${passed} passed, ${failed} failed${skipped}`);
  if (failed > 0) process.exitCode = 1;
}
