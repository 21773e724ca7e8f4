import { execFile } from "node:child_process";
import { stat } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

const ACCOUNT = "postgres";

/** An account of the operating system. */
export interface Account {
  uid: number;
  gid: number;
}

/** How a program is started so that Postgres agrees to run: what to put before it, and as whom. */
export interface Launcher {
  prefix: string[];
  options: { uid?: number; gid?: number };
}

/** Says which account has to own and run the cluster; undefined means ours, as we are not root. */
export async function chooseAccount(clusterDir: string): Promise<Account | undefined> {
  const ownUid = process.getuid?.();
  const owner = await stat(clusterDir).catch(() => undefined);
  if (ownUid !== 0) {
    if (!owner || owner.uid === ownUid) return undefined;
    throw new Error(
      `${clusterDir} belongs to account ${owner.uid}, as it does when it was made as root. ` +
        "Run as root again, or have it deleted.",
    );
  }
  // Postgres refuses to run as root, and insists that who runs a cluster owns it. So one that was
  // made without root stays with its owner.
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  return (await lookUp(ACCOUNT)) ?? (await create(ACCOUNT));
}

/** Says how to start a program as the account, which has to reach every one of the paths. */
export async function chooseLauncher(
  account: Account | undefined,
  paths: string[],
): Promise<Launcher> {
  if (!account) return { prefix: [], options: {} };
  const plain = { prefix: [], options: account };
  if (await reaches(plain, paths)) return plain;
  // A home folder such as /root is closed to every other account. The account may pass it for as
  // long as this one process runs, which changes no permission on the user's disk.
  const passing = {
    prefix: [
      "setpriv",
      `--reuid=${account.uid}`,
      `--regid=${account.gid}`,
      "--clear-groups",
      // initdb checks its files with access(), which heeds a capability only under this bit.
      "--securebits=+no_setuid_fixup",
      "--inh-caps=+dac_override",
      "--ambient-caps=+dac_override",
    ],
    options: {},
  };
  if (await reaches(passing, paths)) return passing;
  throw new Error(
    `Postgres cannot run as root, and the account ${account.uid} that should run it cannot reach ` +
      `${paths.join(" or ")}. Move the project out of a private folder, or run as another user.`,
  );
}

async function reaches(launcher: Launcher, paths: string[]): Promise<boolean> {
  const [command = "", ...args] = [
    ...launcher.prefix,
    "sh",
    "-c",
    'for p; do test -x "$p" || exit; done',
    "sh",
    ...paths,
  ];
  return run(command, args, { ...launcher.options, cwd: "/" }).then(
    () => true,
    () => false,
  );
}

async function lookUp(name: string): Promise<Account | undefined> {
  try {
    const [uid, gid] = await Promise.all([run("id", ["-u", name]), run("id", ["-g", name])]);
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return undefined;
  }
}

async function create(name: string): Promise<Account> {
  try {
    await run("groupadd", ["--system", "--force", name]);
    const options = ["--system", "--no-create-home", "--shell", "/usr/sbin/nologin"];
    await run("useradd", [...options, "--gid", name, name]);
  } catch (error) {
    // Another process may have made it meanwhile; only its absence is a failure.
    const made = await lookUp(name);
    if (made) return made;
    throw new Error(
      `Postgres cannot run as root, and the account "${name}" that should run it could not be ` +
        "made. Create it, or run as another user.",
      { cause: error },
    );
  }
  const made = await lookUp(name);
  if (!made) throw new Error(`The account "${name}" was made and cannot be found.`);
  return made;
}
