/** What a handler may throw to steer its job, and how any thrown value is read. */

import { ERROR_TEXT_BYTES_MAX } from "./job.js";

/** Ends the job at once as a dead letter: trying again cannot help. */
export class FatalError extends Error {
  readonly code: string;
  constructor(message: string, options: { code?: string; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = "FatalError";
    this.code = options.code ?? "fatal";
  }
}

/** Fails the attempt and names the delay before the next one; it spends budget, unlike `snooze`. */
export class RetryAfterError extends Error {
  readonly retryAfter: number | Date;
  readonly code: string;
  /** @param retryAfter seconds from now, or the instant to try again; clamped to 1 s – 24 h */
  constructor(
    retryAfter: number | Date,
    message = "the target asked to try again later",
    options: { code?: string; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = "RetryAfterError";
    this.retryAfter = retryAfter;
    this.code = options.code ?? "handler_error";
  }
}

/** Puts the job back without spending budget; thrown by `snooze`, so that code after it never runs. */
export class SnoozeSignal extends Error {
  readonly delaySeconds: number;
  constructor(delaySeconds: number) {
    super(`snoozed for ${delaySeconds} s`);
    this.name = "SnoozeSignal";
    this.delaySeconds = delaySeconds;
  }
}

/** The attempt no longer holds its job's lock token; whatever it does from here is not recorded. */
export class LeaseLostError extends Error {
  constructor() {
    super("this attempt lost its lease: another attempt or a sweep took the job");
    this.name = "LeaseLostError";
  }
}

/** The attempt was told to stop: its time is up, or somebody cancelled the job. */
export class AttemptAbortedError extends Error {
  readonly reason: "timeout" | "cancelled" | "platform_deadline";
  constructor(reason: "timeout" | "cancelled" | "platform_deadline", message: string) {
    super(message);
    this.name = "AttemptAbortedError";
    this.reason = reason;
  }
}

/** How a failed attempt goes on. */
export interface Failure {
  kind: "retry" | "fatal";
  code: string;
  message: string;
  /** Set when the thrown value named its own delay. */
  delaySeconds?: number;
  /** The handler did what it was asked: it stopped for a cancel request. */
  isCancel?: boolean;
}

/** Answers that the same request will get again: the request itself is at fault. */
const FATAL_HTTP_STATUSES = new Set([400, 404, 405, 410, 413, 414, 415, 422]);
const RETRY_AFTER_BOUNDS_SECONDS = { min: 1, max: 86_400 } as const;

/**
 * Reads any thrown value, `undefined` included, as a failure that can be stored.
 *
 * Units: `nowMs` is only the zero point for a `RetryAfterError` that names an instant; the due time
 *        itself is computed by the database.
 */
export function classifyFailure(thrown: unknown, nowMs: number): Failure {
  const message = errorText(thrown);
  if (hasName(thrown, "FatalError")) {
    return { kind: "fatal", code: errorCode(thrown, "fatal"), message };
  }
  if (hasName(thrown, "RetryAfterError")) {
    const delaySeconds = clampRetryAfter(readProperty(thrown, "retryAfter"), nowMs);
    return { kind: "retry", code: errorCode(thrown, "handler_error"), message, delaySeconds };
  }
  if (hasName(thrown, "AttemptAbortedError")) {
    const isCancel = readProperty(thrown, "reason") === "cancelled";
    return { kind: "retry", code: isCancel ? "handler_error" : "timeout", message, isCancel };
  }
  const status = httpStatusOf(thrown);
  if (status === undefined) return { kind: "retry", code: "handler_error", message };
  const kind = FATAL_HTTP_STATUSES.has(status) ? "fatal" : "retry";
  return { kind, code: `http_${status}`, message };
}

/** Gives the HTTP status that an error carries, in the places where HTTP libraries put it. */
export function httpStatusOf(thrown: unknown): number | undefined {
  const candidates = [
    readProperty(thrown, "status"),
    readProperty(thrown, "statusCode"),
    readProperty(readProperty(thrown, "response"), "status"),
  ];
  const status = candidates.find((candidate) => candidate !== undefined && candidate !== null);
  return typeof status === "number" && Number.isInteger(status) && status >= 100 && status <= 599
    ? status
    : undefined;
}

/** Clamps a wish for the next try to 1 s – 24 h; what cannot be read counts as the minimum. */
export function clampRetryAfter(wish: unknown, nowMs: number): number {
  const seconds =
    wish instanceof Date
      ? (wish.getTime() - nowMs) / 1000
      : typeof wish === "number"
        ? wish
        : Number.NaN;
  if (Number.isNaN(seconds)) return RETRY_AFTER_BOUNDS_SECONDS.min;
  return Math.min(
    RETRY_AFTER_BOUNDS_SECONDS.max,
    Math.max(RETRY_AFTER_BOUNDS_SECONDS.min, Math.ceil(seconds)),
  );
}

/** Makes any thrown value a text that Postgres accepts: no NUL, no lone surrogate, bounded bytes. */
export function errorText(thrown: unknown): string {
  let text: string;
  try {
    const own = thrown instanceof Error ? thrown.message || thrown.name : describe(thrown);
    text = String(own) || "an error without a message was thrown";
  } catch {
    text = "a value that cannot be described was thrown";
  }
  return cutText(text, ERROR_TEXT_BYTES_MAX);
}

/** Cleans text for storage and cuts it to a number of UTF-8 bytes, never inside a character. */
export function cutText(text: string, bytesMax: number): string {
  // A character has at least one byte, so no more than bytesMax characters can survive.
  const clean = text.slice(0, bytesMax).replaceAll("\u0000", "\ufffd").toWellFormed();
  const bytes = new TextEncoder().encode(clean);
  if (bytes.length <= bytesMax) return clean;
  // fatal: false would turn the cut character into U+FFFD, which may be longer than what was cut.
  let end = bytesMax;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return new TextDecoder().decode(bytes.subarray(0, end));
}

function describe(thrown: unknown): string {
  if (typeof thrown === "string") return thrown || "an empty string was thrown";
  if (thrown === undefined) return "undefined was thrown";
  if (typeof thrown === "object" && thrown !== null) {
    const message = readProperty(thrown, "message");
    if (typeof message === "string" && message) return message;
    return JSON.stringify(thrown) ?? "an object was thrown";
  }
  return `${String(thrown)} was thrown`;
}

/** Compares by name: two copies of this module in one bundle must still understand each other. */
function hasName(thrown: unknown, name: string): boolean {
  return readProperty(thrown, "name") === name;
}

const CODE_PATTERN = /^[a-z][a-z0-9_]{0,63}$/;

function errorCode(thrown: unknown, fallback: string): string {
  const code = readProperty(thrown, "code");
  return typeof code === "string" && CODE_PATTERN.test(code) ? code : fallback;
}

function readProperty(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  try {
    return (value as Record<string, unknown>)[name];
  } catch {
    // A throwing getter or a revoked proxy: there is nothing to read.
    return undefined;
  }
}
