import { chown, mkdir, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { connect } from "node:net";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { close, listen } from "../listen.js";
import { chooseAccount, chooseLauncher } from "./account.js";
import { findBinaries } from "./binaries.js";
import { prepareCluster } from "./cluster.js";
import { launchServer, type ServerProcess, StartError, stopServer } from "./server-process.js";

const DEFAULT_SETTINGS = {
  listen_addresses: "127.0.0.1",
  // Its default folder may be closed to us, or hold the socket of another Postgres.
  unix_socket_directories: "",
  max_connections: "200",
  // Tests provoke deadlocks; the default second of waiting would be paid for each.
  deadlock_timeout: "200ms",
  timezone: "UTC",
  // Everything from LOG upwards: a statement that fails is told to its client, not to us.
  log_min_messages: "log",
  log_checkpoints: "off",
};

const PORT_ATTEMPTS = 5;
const LOCK_WAIT_SECONDS = 10;
const LOCK_POLL_MILLISECONDS = 200;
const LOCK_LOOKS_BEFORE_REMOVAL = 3;

/** A running PostgreSQL of our own. */
export interface EmbeddedPostgres {
  /** The superuser's URL of the database `postgres`. */
  url: string;
  port: number;
  stop(): Promise<void>;
}

/** Starts the PostgreSQL from npm on 127.0.0.1, on the data of last time if there is any. */
export async function startPostgres(options: {
  dataDir: string;
  /** 0 or nothing takes any free port. */
  port?: number;
  /** False deletes the data folder at the end. */
  persistent?: boolean;
  settings?: Record<string, string>;
}): Promise<EmbeddedPostgres> {
  if (process.platform === "win32") {
    throw new Error(
      "The embedded PostgreSQL runs on Linux and macOS. On Windows use WSL, or a PostgreSQL of your own.",
    );
  }
  const dataDir = resolve(options.dataDir);
  const clusterDir = join(dataDir, "cluster");
  const binaries = await findBinaries();
  const account = await chooseAccount(clusterDir);
  await mkdir(dataDir, { recursive: true });
  if (account) await chown(dataDir, account.uid, account.gid);
  const launcher = await chooseLauncher(account, [binaries.postgres, dataDir]);
  const password = await prepareCluster(clusterDir, {
    dataDir,
    initdb: binaries.initdb,
    account,
    launcher,
    sync: options.settings?.fsync !== "off",
  });
  const settings = Object.entries({ ...DEFAULT_SETTINGS, ...options.settings });
  const flags = settings.flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const { server, port } = await launchOnPort(clusterDir, options.port ?? 0, (port) =>
    launchServer([binaries.postgres, "-D", clusterDir, "-p", String(port), ...flags], launcher),
  );
  return {
    url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
    port,
    async stop() {
      await stopServer(server);
      if (options.persistent === false) await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function launchOnPort(
  clusterDir: string,
  wantedPort: number,
  launch: (port: number) => Promise<ServerProcess>,
): Promise<{ server: ServerProcess; port: number }> {
  const deadline = Date.now() + LOCK_WAIT_SECONDS * 1000;
  for (let attempt = 1; ; attempt++) {
    const port = wantedPort || (await findFreePort());
    try {
      return { server: await launch(port), port };
    } catch (error) {
      const log = error instanceof StartError ? error.log : "";
      if (/could not bind/.test(log)) {
        // A free port may be taken by someone else before Postgres gets to it.
        if (!wantedPort && attempt < PORT_ATTEMPTS) continue;
        throw new Error(`Port ${port} for Postgres is taken.`, { cause: error });
      }
      // The last server of this folder may still be shutting down, after its owner was killed.
      const inUse = /lock file .* already exists|pre-existing shared memory/.test(log);
      if (!inUse) throw error;
      if (Date.now() > deadline) {
        throw new Error(`The data in ${clusterDir} is in use by another process.`, {
          cause: error,
        });
      }
      await delay(LOCK_POLL_MILLISECONDS);
      if (attempt >= LOCK_LOOKS_BEFORE_REMOVAL) await removeStaleLock(clusterDir);
    }
  }
}

// Postgres itself ignores the lock of a process that is gone. But after a restart of the machine or
// the container the number in it may be another process's, and then only the port tells them apart.
async function removeStaleLock(clusterDir: string): Promise<void> {
  const lockFile = join(clusterDir, "postmaster.pid");
  const lines = (await readFile(lockFile, "utf8").catch(() => "")).split("\n");
  const [pid, , , port] = lines;
  if (!pid || !port || !isAlive(Number(pid))) return;
  if (!(await answers(Number(port)))) await rm(lockFile, { force: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

async function answers(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, "127.0.0.1");
  socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
  const answered = await promise;
  socket.destroy();
  return answered;
}

async function findFreePort(): Promise<number> {
  const probe = createServer();
  const port = await listen(probe, { port: 0, service: "Postgres" });
  await close(probe);
  return port;
}
