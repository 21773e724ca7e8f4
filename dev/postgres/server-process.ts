import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import type { Launcher } from "./account.js";

const LOG_TAIL_CHARACTERS = 4000;

// Postgres must not outlive this process, not even when it is killed with SIGKILL and can do
// nothing about it any more. So a shell stands between the two and asks Postgres for a fast shutdown
// (SIGINT) as soon as the pipe from this process ends, for whatever reason it does.
const KEEPER = `
exec 3<&0
"$@" 3<&- &
server=$!
(read -r _; kill -INT "$server") <&3 &
watcher=$!
wait "$server"
status=$?
kill "$watcher" 2>/dev/null
wait "$watcher" 2>/dev/null
exit "$status"`;

/** A running Postgres; it lives as long as its standard input is open. */
export type ServerProcess = ChildProcessByStdio<Writable, null, Readable>;

/** Postgres ended before it was ready; its last words say why. */
export class StartError extends Error {
  constructor(readonly log: string) {
    super(`Postgres did not start:\n${log.trim()}`);
  }
}

/** Starts Postgres and returns when it accepts connections. */
export async function launchServer(command: string[], launcher: Launcher): Promise<ServerProcess> {
  const [file = "", ...args] = [...launcher.prefix, "sh", "-c", KEEPER, "sh", ...command];
  const server = spawn(file, args, {
    ...launcher.options,
    cwd: "/",
    // The "ready" line below has to be in English.
    env: { ...process.env, LC_ALL: "C" },
    stdio: ["pipe", "ignore", "pipe"],
    // Ctrl-C goes to the whole group of the terminal; Postgres has to stay until we stop it.
    detached: true,
  });
  // Both ends of a pipe break when Postgres ends first; that is told by its exit.
  server.stdin.on("error", () => {});
  const ready = Promise.withResolvers<void>();
  let log = "";
  server.stderr.setEncoding("utf8").on("data", (text: string) => {
    log = (log + text).slice(-LOG_TAIL_CHARACTERS);
    if (log.includes("database system is ready to accept connections")) ready.resolve();
  });
  server.once("error", ready.reject);
  server.once("close", () => {
    server.stdin.destroy();
    ready.reject(new StartError(log));
  });
  await ready.promise;
  return server;
}

/** Stops Postgres: open transactions are rolled back, and no process of it is left. */
export async function stopServer(server: ServerProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const exited = once(server, "close");
  server.stdin.end();
  await exited;
}
