/** Everything outside of the command line itself: a process gives the real ones, a test its own. */

import type { Antrean, Reconciler } from "../compose.js";
import type { Environment } from "../config.js";

export interface Output {
  write(text: string): unknown;
  isTTY?: boolean;
}

/** Takes one log line. */
export type WriteLog = (line: string) => void;

export interface Io {
  env: Environment;
  stdin: AsyncIterable<Uint8Array | string> & { isTTY?: boolean };
  /** What was asked for. */
  stdout: Output;
  /** Progress, hints and errors, so that what was asked for can be piped. */
  stderr: Output;
  fetch(request: Request): Promise<Response>;
  /** Resolves after the time, or early when the signal aborts. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** This machine's clock, which decides nothing: `doctor` compares it with the database's. */
  now(): number;
  /** Aborts when the user or the platform asks the process to stop. */
  stop: AbortSignal;
  /** The application of this package in this very process, over a deployment's environment. */
  application(env: Environment, writeLog: WriteLog): Promise<Antrean>;
  /** Compares the environment's database with its QStash account. */
  reconciler(env: Environment, writeLog: WriteLog): Promise<Reconciler>;
  /** Brings the environment's database to the newest migration; gives the names of those applied. */
  migrate(env: Environment): Promise<string[]>;
}

/** The command was written wrongly: exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The command ran and what it was to do did not succeed: exit code 1. */
export class FailedError extends Error {
  override readonly name = "FailedError";
}
