/** One run of the command line: its settings, and how it speaks. */

import { readFile } from "node:fs/promises";
import { parseEnv } from "node:util";
import type { Command } from "commander";
import type { Antrean, Reconciler } from "../compose.js";
import type { Environment } from "../config.js";
import { type Api, createApi } from "./api.js";
import { type Io, UsageError, type WriteLog } from "./io.js";
import { decodeUtf8 } from "./json-input.js";
import { createPaint, type Paint } from "./paint.js";

/** Options that every command takes. */
export interface GlobalOptions {
  url?: string;
  apiKey?: string;
  envFile?: string;
  json?: boolean;
  /** False after `--no-color`. */
  color: boolean;
}

export interface Session {
  io: Io;
  json: boolean;
  paint: Paint;
  /** The process's environment over that of the file. */
  env: Environment;
  api(): Api;
  /** Where the API is; it takes no key to ask whether it is there. */
  url(): string;
  /** Its log lines go where the command wants them. */
  application(writeLog: WriteLog): Promise<Antrean>;
  reconciler(writeLog: WriteLog): Promise<Reconciler>;
  /** Shows an answer: as JSON for machines, else as the text that is made of it. */
  show<Answer>(answer: Answer, render: (answer: Answer) => string): void;
  /** Says something beside the answer; nothing when machines listen. */
  say(text: string): void;
}

const DEFAULT_ENV_FILE = ".env";

/** Reads the settings of the command that runs. */
export async function openSession(io: Io, command: Command): Promise<Session> {
  const options = command.optsWithGlobals<GlobalOptions>();
  const env = { ...(await readEnvFile(options.envFile)), ...withoutEmpty(io.env) };
  const json = options.json ?? false;
  const colours = options.color && !env.NO_COLOR && io.stdout.isTTY === true && !json;
  const url = () => httpUrl(setting("--url", "ANTREAN_URL", options.url ?? env.ANTREAN_URL));
  return {
    io,
    json,
    env,
    paint: createPaint(colours),
    url,
    api() {
      const apiKey = setting("--api-key", "ANTREAN_API_KEY", options.apiKey ?? env.ANTREAN_API_KEY);
      return createApi({ url: url(), apiKey }, io);
    },
    application: (writeLog) => io.application(env, writeLog),
    reconciler: (writeLog) => io.reconciler(env, writeLog),
    show: (answer, render) =>
      void io.stdout.write(json ? `${JSON.stringify(answer)}\n` : render(answer)),
    say: (text) => void (json || io.stderr.write(`${text}\n`)),
  };
}

function setting(flag: string, variable: string, value: string | undefined): string {
  if (value?.trim()) return value.trim();
  throw new UsageError(
    `${variable} is missing: give ${flag}, set the variable, or write it into ${DEFAULT_ENV_FILE}.`,
  );
}

/** `localhost:3000` is a URL as well, of the scheme `localhost`. */
function httpUrl(text: string): string {
  if (/^https?:\/\//i.test(text) && URL.canParse(text)) return text;
  throw new UsageError(`ANTREAN_URL must be an http(s) URL, and is ${text}.`);
}

/** The file is optional unless it was asked for. */
async function readEnvFile(file: string | undefined): Promise<Environment> {
  const name = file ?? DEFAULT_ENV_FILE;
  try {
    return { ...parseEnv(decodeUtf8(await readFile(name), name)) };
  } catch (error) {
    if (file === undefined && (error as NodeJS.ErrnoException).code === "ENOENT") return {};
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${name} cannot be read: ${String(error)}`);
  }
}

/** A variable that is unset or empty must not hide that of the file. */
function withoutEmpty(env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value?.trim()));
}

/** Runs a command with its session. */
export type Action = (
  work: (session: Session, ...given: never[]) => Promise<void>,
) => (...given: unknown[]) => Promise<void>;

/** Makes commander's callbacks: the operands and options, then the command itself come last. */
export function actionsOf(io: Io): Action {
  return (work) =>
    async (...given) => {
      const command = given.at(-1) as Command;
      await work(await openSession(io, command), ...(given.slice(0, -1) as never[]));
    };
}
