import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { chown, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Account, Launcher } from "./account.js";

const run = promisify(execFile);

/** Makes a cluster in the data folder unless one is there, and returns its superuser's password. */
export async function prepareCluster(
  clusterDir: string,
  options: {
    dataDir: string;
    initdb: string;
    account: Account | undefined;
    launcher: Launcher;
    sync: boolean;
  },
): Promise<string> {
  const passwordFile = join(options.dataDir, "password");
  if (existsSync(join(clusterDir, "PG_VERSION"))) return readFile(passwordFile, "utf8");

  const password = randomUUID();
  await rm(passwordFile, { force: true });
  await writeFile(passwordFile, password, { mode: 0o600 });
  const { account } = options;
  if (account) await chown(passwordFile, account.uid, account.gid);

  // Made aside and renamed, so that an initdb that was killed halfway is never taken for a cluster.
  const draftDir = `${clusterDir}.new`;
  await rm(draftDir, { recursive: true, force: true });
  await initialise(draftDir, passwordFile, options);
  await rename(draftDir, clusterDir);
  return password;
}

async function initialise(
  clusterDir: string,
  passwordFile: string,
  options: { initdb: string; launcher: Launcher; sync: boolean },
): Promise<void> {
  const [command = "", ...args] = [
    ...options.launcher.prefix,
    options.initdb,
    `--pgdata=${clusterDir}`,
    "--username=postgres",
    `--pwfile=${passwordFile}`,
    "--auth=password",
    // Hashing slowly protects weak passwords; this one is random, and every connection would pay.
    "--set=scram_iterations=1",
    "--encoding=UTF8",
    // The built-in locale sorts alike on every operating system, as the system's own does not.
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--no-instructions",
    ...(options.sync ? [] : ["--no-sync"]),
  ];
  try {
    await run(command, args, { ...options.launcher.options, cwd: "/" });
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    throw new Error(`initdb failed: ${stderr?.trim() || error}`, { cause: error });
  }
}
