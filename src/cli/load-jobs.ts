/** Creates the jobs of a file, a line each, so that the same command can be repeated after a fault. */

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { type AcceptedJob, AntreanError } from "../client/client.js";
import type { Api } from "./api.js";
import { FailedError, UsageError } from "./io.js";
import { checkJson, decodeUtf8 } from "./json-input.js";
import { startProgress } from "./progress.js";
import type { Session } from "./session.js";

export interface LoadOptions {
  file: string;
  /** Stands for the file; its name without folders when left out. */
  keyPrefix: string | undefined;
  concurrency: number;
}

interface Line {
  number: number;
  /** Without the line feed. */
  bytes: Uint8Array;
}

interface RefusedLine {
  line: number;
  detail: string;
}

/** Refusals of one line that say nothing about the next; anything else stops the load. */
const STATUSES_OF_ONE_LINE = [400, 409, 413, 422];
/** More would scroll away what matters. */
const REFUSALS_SHOWN = 20;

/**
 * Sends every line; those that are refused are named at the end.
 *
 * Errors: `FailedError` when lines were refused; the first error that concerns all lines stops.
 */
export async function loadJobs(session: Session, options: LoadOptions): Promise<void> {
  const api = session.api();
  const identity = options.keyPrefix ?? basename(options.file);
  const progress = startProgress(session.io.stderr, session.json, await sizeOf(options.file));
  const refused: RefusedLine[] = [];
  let accepted = 0;
  const send = async (line: Line): Promise<void> => {
    try {
      const job = await createOfLine(api, identity, line);
      accepted += 1;
      if (session.json) {
        session.io.stdout.write(`${JSON.stringify({ line: line.number, ...job })}\n`);
      }
    } catch (error) {
      refused.push(refusalOf(error, line));
    }
    progress.add(line.bytes.length + 1, `${accepted} accepted, ${refused.length} refused`);
  };
  try {
    await forEachAtOnce(linesOf(options.file), options.concurrency, send);
  } catch (error) {
    progress.end(`${accepted} accepted, ${refused.length} refused, then stopped`);
    session.say("Repeat the same command to go on: nothing is created twice.");
    throw error;
  }
  progress.end(`${accepted} accepted, ${refused.length} refused`);
  if (refused.length > 0) throw new FailedError(refusalsText(refused));
}

/** The key is bound to the line: whatever is sent under it is this line, or is told apart by it. */
export function keyOfLine(identity: string, { number, text }: { number: number; text: string }) {
  return createHash("sha256")
    .update(JSON.stringify([identity, number, text]))
    .digest("hex");
}

async function createOfLine(
  api: Api,
  identity: string,
  { number, bytes }: Line,
): Promise<AcceptedJob> {
  const text = decodeUtf8(bytes, "it").replace(/\r$/, "");
  const body = checkJson(text, "it");
  const idempotencyKey = keyOfLine(identity, { number, text });
  return api.call({ method: "POST", path: "/api/jobs", body, idempotencyKey });
}

function refusalOf(error: unknown, { number }: Line): RefusedLine {
  if (error instanceof UsageError) return { line: number, detail: error.message };
  if (error instanceof AntreanError && STATUSES_OF_ONE_LINE.includes(error.status ?? 0)) {
    return { line: number, detail: error.message };
  }
  throw error;
}

function refusalsText(refused: RefusedLine[]): string {
  const inOrder = refused.sort((a, b) => a.line - b.line);
  const shown = inOrder.slice(0, REFUSALS_SHOWN).map((it) => `  line ${it.line}: ${it.detail}`);
  if (refused.length > REFUSALS_SHOWN) shown.push(`  and ${refused.length - REFUSALS_SHOWN} more`);
  const count = refused.length === 1 ? "One line was" : `${refused.length} lines were`;
  return `${count} refused:\n${shown.join("\n")}`;
}

const LINE_FEED = 0x0a;
const isBlank = ({ bytes }: Line): boolean => bytes.every((byte) => byte <= 0x20);

/**
 * Reads as it is asked for, so that a file may be larger than the memory.
 *
 * Shape: only a line feed ends a line. Node's own reader also ends one at U+2028, which may stand in
 *        a JSON string.
 */
async function* linesOf(file: string): AsyncGenerator<Line, void> {
  let number = 0;
  let begun: Buffer[] = [];
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      number += 1;
      const line = { number, bytes: Buffer.concat([...begun, chunk.subarray(start, end)]) };
      if (!isBlank(line)) yield line;
      begun = [];
      start = end + 1;
    }
    begun.push(chunk.subarray(start));
  }
  const last = { number: number + 1, bytes: Buffer.concat(begun) };
  if (!isBlank(last)) yield last;
}

async function sizeOf(file: string): Promise<number> {
  const found = await stat(file).catch((error: Error) => {
    throw new UsageError(`${file} cannot be read: ${error.message}`);
  });
  if (found.isDirectory()) throw new UsageError(`${file} is a directory.`);
  return found.size;
}

/** Takes items in turn, so many at once; the first error lets nobody begin another. */
async function forEachAtOnce<Item>(
  items: AsyncGenerator<Item, void>,
  concurrency: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  let failed = false;
  const worker = async (): Promise<void> => {
    while (!failed) {
      const next = await items.next();
      if (next.done) return;
      await work(next.value).catch((error: unknown) => {
        failed = true;
        throw error;
      });
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: concurrency }, worker));
  await items.return();
  const failure = ends.find((end) => end.status === "rejected");
  if (failure) throw failure.reason;
}
