/** One call of the API: sent until it is answered, as often as that is safe. */

import { readAnswer } from "./answer.js";
import { AntreanError } from "./error.js";
import { type Sleep, sleepWithTimer, within } from "./time.js";

/** Where the API is and how to reach it. */
export interface TransportOptions {
  /** Where the application is mounted, without `/api`: `https://jobs.example.com`. */
  baseUrl: string;
  apiKey: string;
  /** Sent with every request. */
  headers?: Record<string, string>;
  /** The platform's `fetch` when left out. */
  fetch?: (request: Request) => Promise<Response>;
  /** Further tries after a network fault, 408, 429 or 5xx; 4 when left out. */
  retries?: number;
  /** For one try; 30 when left out. */
  tryTimeoutSeconds?: number;
  /** Waits; tests put in their own time. */
  sleep?: Sleep;
}

export interface Call {
  method: "GET" | "POST" | "PUT";
  /** Begins with `/api`. */
  path: string;
  /** JSON, written once: a key stands for one request, byte for byte. */
  body?: string;
  idempotencyKey?: string;
  /** For a POST without a key that does the same when it is done twice. */
  isRepeatable?: boolean;
  /** How long the server may take on purpose. */
  waitSeconds?: number;
  retries?: number;
  signal?: AbortSignal;
}

/** Gives what the API answered; the caller knows of which type that is. */
export type Transport = <Answer>(call: Call) => Promise<Answer>;

const BACKOFF_MS = { first: 500, max: 20_000 } as const;
/** The longest that our own server asks for; a gateway that asks for an hour is tried sooner. */
const RETRY_AFTER_SECONDS_MAX = 60;

/** Makes the function through which all requests go. */
export function createTransport(options: TransportOptions): Transport {
  const { retries = 4, sleep = sleepWithTimer } = options;
  return async <Answer>(call: Call): Promise<Answer> => {
    const isSafe = call.method === "GET" || call.idempotencyKey !== undefined || call.isRepeatable;
    const triesMax = isSafe ? 1 + (call.retries ?? retries) : 1;
    for (let tries = 1; ; tries += 1) {
      try {
        return await tryOnce<Answer>(options, call, tries);
      } catch (error) {
        if (tries >= triesMax || !(error instanceof AntreanError) || !mayPass(error)) throw error;
        await sleep(delayMs(error, tries), call.signal);
      }
    }
  };
}

async function tryOnce<Answer>(
  options: TransportOptions,
  call: Call,
  tries: number,
): Promise<Answer> {
  const { sleep = sleepWithTimer, tryTimeoutSeconds = 30 } = options;
  // Called as a plain function: browsers refuse a `fetch` that became somebody's method.
  const send = options.fetch ?? ((request: Request) => fetch(request));
  const facts = { idempotencyKey: call.idempotencyKey, tries };
  const unanswered = (detail: string, cause?: unknown) =>
    new AntreanError("network_error", detail, { ...facts, cause });
  const limitSeconds = tryTimeoutSeconds + (call.waitSeconds ?? 0);
  const limits = {
    sleep,
    limitMs: limitSeconds * 1000,
    expired: () => unanswered(`No answer within ${limitSeconds} s.`),
    signal: call.signal,
  };
  return within(limits, async (signal) => {
    // Outside of the try: what is wrong with the request itself does not pass.
    const request = requestOf(options, call, signal);
    let response: Response;
    let text: string;
    try {
      response = await send(request);
      text = await response.text();
    } catch (cause) {
      throw unanswered("The request got no answer.", cause);
    }
    return readAnswer<Answer>(response, text, facts);
  });
}

function requestOf(
  { baseUrl, apiKey, headers: given }: TransportOptions,
  { method, path, body, idempotencyKey }: Call,
  signal: AbortSignal,
): Request {
  const headers = new Headers(given);
  headers.set("Authorization", `Bearer ${apiKey}`);
  if (body !== undefined) headers.set("Content-Type", "application/json");
  if (idempotencyKey !== undefined) headers.set("Idempotency-Key", idempotencyKey);
  // Redirects are not followed: a POST would arrive as a GET, without its body.
  const init: RequestInit = { method, headers, body, signal, redirect: "manual" };
  return new Request(baseUrl.replace(/\/+$/, "") + path, init);
}

function mayPass({ code, status = 0 }: AntreanError): boolean {
  return code === "network_error" || status === 408 || status === 429 || status >= 500;
}

/**
 * Gives the wait before the next try: what the server asks for, and backoff with full jitter, since
 * clients that failed together must not come back together.
 */
function delayMs({ retryAfterSeconds = 0 }: AntreanError, tries: number): number {
  const backoffMs = Math.min(BACKOFF_MS.max, BACKOFF_MS.first * 2 ** (tries - 1));
  return Math.min(retryAfterSeconds, RETRY_AFTER_SECONDS_MAX) * 1000 + Math.random() * backoffMs;
}
