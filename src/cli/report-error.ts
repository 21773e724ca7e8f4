/** Says what went wrong, and with which exit code the process ends. */

import { CommanderError } from "commander";
import { AntreanError } from "../client/client.js";
import { ConfigError } from "../config.js";
import { FailedError, type Io, UsageError } from "./io.js";
import { createPaint, plain } from "./paint.js";
import type { GlobalOptions } from "./session.js";

export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;

/** Writes an error for people, or as one line of JSON, and gives the exit code. */
export function reportError(
  io: Io,
  error: unknown,
  { json, color }: Pick<GlobalOptions, "json" | "color">,
): number {
  const isOfCommander = error instanceof CommanderError;
  // Help that was asked for is no fault.
  if (isOfCommander && error.exitCode === 0) return EXIT.ok;
  const isUsage = isOfCommander || error instanceof UsageError;
  const said = io.stop.aborted && !isUsage ? new FailedError("Stopped.") : error;
  const paint = createPaint(color && io.stderr.isTTY === true && !io.env.NO_COLOR);
  if (json) io.stderr.write(`${JSON.stringify(factsOf(said, isUsage))}\n`);
  // Commander has said its own already.
  else if (!isOfCommander) io.stderr.write(`${paint("red", "✗")} ${textOf(said)}\n`);
  return isUsage ? EXIT.usage : EXIT.failed;
}

function factsOf(error: unknown, isUsage: boolean): Record<string, unknown> {
  if (error instanceof AntreanError) {
    const { code, status, detail, errors, requestId, activeJobId, idempotencyKey } = error;
    return { code, status, detail, errors, requestId, activeJobId, idempotencyKey };
  }
  return { code: isUsage ? "usage" : "failed", detail: messageOf(error) };
}

function textOf(error: unknown): string {
  if (!(error instanceof AntreanError)) return messageOf(error);
  const { code, detail, errors, requestId, activeJobId, idempotencyKey, status = 0 } = error;
  const lines = [`${code}: ${plain(detail)}${causeOf(error)}`];
  for (const place of errors) lines.push(`  ${plain(`${place.pointer} ${place.detail}`)}`);
  if (activeJobId) lines.push(`  active job: ${activeJobId}`);
  if (requestId) lines.push(`  request: ${requestId}`);
  // A refusal is certain; after anything else the job may be there.
  if (idempotencyKey && (status === 0 || status >= 500)) {
    lines.push(`  It may have been accepted; repeat with --idempotency-key ${idempotencyKey}`);
  }
  return lines.join("\n");
}

/** Why there was no answer: the system's words are two causes deep in Node's fetch. */
function causeOf({ cause }: AntreanError): string {
  if (!(cause instanceof Error)) return "";
  const reason =
    cause.cause instanceof Error ? cause.cause.message || cause.message : cause.message;
  return ` (${plain(reason)})`;
}

function messageOf(error: unknown): string {
  if (error instanceof CommanderError) {
    // Where no command was named, it shows the help and says nothing of its own.
    return error.code === "commander.help"
      ? "Name a command."
      : error.message.replace(/^error: /, "");
  }
  const expected = [FailedError, UsageError, ConfigError];
  if (expected.some((kind) => error instanceof kind)) return (error as Error).message;
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
