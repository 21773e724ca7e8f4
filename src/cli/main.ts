#!/usr/bin/env node
/** The process around `npx antrean`: its streams, its clock, its signals. */

import { setMaxListeners } from "node:events";
import { sleepWithTimer } from "../client/time.js";
import { run } from "./run.js";

const stop = new AbortController();
// Each of many requests at a time listens; more than ten are no leak here.
setMaxListeners(0, stop.signal);
// Once each, so that a second signal ends the process at once.
const onSignal = (): void => stop.abort(new Error("asked to stop"));
process.once("SIGINT", onSignal).once("SIGTERM", onSignal);

// A reader that has seen enough, such as head, is no fault.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  process.exit(error.code === "EPIPE" ? 0 : 1);
});

const code = await run(process.argv.slice(2), {
  env: process.env,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  fetch: (request) => fetch(request),
  sleep: sleepWithTimer,
  now: () => Date.now(),
  stop: stop.signal,
  // Loaded only for the commands that need it: the others start in a fraction of the time.
  application: async (env, writeLog) => (await import("./local.js")).composeLocal(env, writeLog),
  reconciler: async (env, writeLog) =>
    (await import("./local.js")).composeLocalReconciler(env, writeLog),
  migrate: async (env) => (await import("./local.js")).migrateLocal(env),
});

// Job files may have opened connections, which would keep the process; what was said goes out first.
process.stdout.write("", () => process.stderr.write("", () => process.exit(code)));
