/** The application processes: started, killed without warning, started again. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { build } from "esbuild";

export interface FleetOptions {
  /** One environment for each process. */
  environments: Record<string, string>[];
  /** Where the built application goes. */
  appPath: string;
}

/** One process; its port is unset while it is down. */
interface Member {
  env: Record<string, string>;
  child: ChildProcess | undefined;
  port: number | undefined;
  incarnation: number;
}

export class Fleet {
  kills = 0;
  /** Ends of processes that nobody asked for: a scripted job, or a fault of ours. */
  unaskedEnds = 0;
  #members: Member[] = [];
  #isClosing = false;

  private constructor(private readonly appPath: string) {}

  /** Builds the application, so that a process is back in a moment, and starts all. */
  static async start({ environments, appPath }: FleetOptions): Promise<Fleet> {
    await build({
      entryPoints: [new URL("app.ts", import.meta.url).pathname],
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node20",
      outfile: appPath,
      logLevel: "warning",
      banner: {
        js: "import { createRequire as make } from 'node:module'; const require = make(import.meta.url);",
      },
    });
    const fleet = new Fleet(appPath);
    fleet.#members = environments.map((env) => {
      return { env, child: undefined, port: undefined, incarnation: 0 };
    });
    await Promise.all(fleet.#members.map((member) => fleet.#launch(member)));
    return fleet;
  }

  get size(): number {
    return this.#members.length;
  }

  /** Addresses of the processes that are up. */
  origins(): string[] {
    return this.#members.flatMap(({ port }) =>
      port === undefined ? [] : [`http://127.0.0.1:${port}`],
    );
  }

  /** Kills one process; it comes back by itself. */
  kill(index: number): void {
    const member = this.#members[index];
    if (member?.port === undefined) return;
    this.kills += 1;
    member.port = undefined;
    member.child?.kill("SIGKILL");
  }

  /** Returns once every process is up. */
  async allUp(): Promise<void> {
    while (this.#members.some(({ port }) => port === undefined)) await delay(20);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    const ends = this.#members.map(async ({ child }) => {
      if (!child || child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    });
    await Promise.all(ends);
  }

  async #launch(member: Member): Promise<void> {
    member.incarnation += 1;
    const name = `${member.env.SOAK_PROCESS}.${member.incarnation}`;
    const child = spawn(process.execPath, [this.appPath], {
      env: { ...member.env, SOAK_PROCESS: name },
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    member.child = child;
    const ready = Promise.withResolvers<void>();
    child.once("message", (message) => {
      member.port = (message as { port: number }).port;
      ready.resolve();
    });
    child.once("error", ready.reject);
    child.once("exit", () => {
      // Killed members have no port any more.
      if (member.port !== undefined) this.unaskedEnds += 1;
      member.port = undefined;
      ready.resolve();
      if (!this.#isClosing) setTimeout(() => void this.#launch(member), 150);
    });
    await ready.promise;
  }
}
