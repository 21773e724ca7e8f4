/**
 * JSON that the user gives, by option, file or standard input.
 *
 * It stays the text that it is: parsed and printed again, 9007199254740993 would become another
 * number before the server could refuse it.
 */

import { readFile } from "node:fs/promises";
import { type Io, UsageError } from "./io.js";

export interface JsonOptions {
  payload?: string;
  file?: string;
}

/** Gives the text of the one source that was named; undefined when there is none. */
export async function readJsonText(io: Io, options: JsonOptions): Promise<string | undefined> {
  const { payload, file } = options;
  if (payload !== undefined && file !== undefined) {
    throw new UsageError("Give --payload or --file, not both.");
  }
  if (payload !== undefined) return checkJson(payload, "--payload");
  if (file === "-") return checkJson(await readAll(io), "standard input");
  return file === undefined ? undefined : checkJson(await readText(file), file);
}

/** The same, with standard input where nothing was named; a terminal is not waited for. */
export async function requireJsonText(io: Io, options: JsonOptions): Promise<string> {
  const fromStdin = options.payload === undefined && options.file === undefined;
  if (fromStdin && io.stdin.isTTY) {
    throw new UsageError("Give the payload with --payload, --file, or on standard input.");
  }
  const text = await readJsonText(io, fromStdin ? { file: "-" } : options);
  return text ?? "null";
}

/** Checks a text, so that it can stand inside another one as exactly one value. */
export function checkJson(text: string, source: string): string {
  try {
    JSON.parse(text);
    return text.trim();
  } catch (error) {
    throw new UsageError(`${source} is not JSON: ${(error as Error).message}`);
  }
}

/** Writes an object whose last member is a JSON text. */
export function withJson(members: object, name: string, json: string | undefined): string {
  const text = JSON.stringify(members);
  if (json === undefined) return text;
  return `${text.slice(0, -1)}${text === "{}" ? "" : ","}${JSON.stringify(name)}:${json}}`;
}

/**
 * Decodes UTF-8, without a byte order mark.
 *
 * Errors: `UsageError` for any other encoding, whose letters would silently become question marks.
 */
export function decodeUtf8(bytes: Uint8Array, source: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new UsageError(`${source} is not UTF-8.`);
  }
}

async function readText(file: string): Promise<string> {
  const bytes = await readFile(file).catch((error: Error) => {
    throw new UsageError(`${file} cannot be read: ${error.message}`);
  });
  return decodeUtf8(bytes, file);
}

async function readAll({ stdin }: Io): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk));
  return decodeUtf8(Buffer.concat(chunks), "standard input");
}
