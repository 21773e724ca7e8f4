/**
 * One guarded HTTP call: policy, time limit over headers and body, failures in safe words.
 *
 * Error texts name the host and nothing else of the request: paths and queries carry tokens, and
 * the texts are stored, listed and logged.
 */

import { FatalError, type JobContext, RetryAfterError } from "../../core/define-job.js";
import { urlRefusal } from "./address-policy.js";
import { type CappedText, readCapped } from "./response.js";
import { readRetryAfterSeconds } from "./retry-after.js";

export interface OutboundRequest {
  url: string;
  method: string;
  headers: Record<string, string>;
  body?: string;
  timeoutSeconds: number;
}

export interface OutboundAnswer {
  status: number;
  headers: Headers;
  host: string;
  /** Reads the body, at most so many bytes, within the call's time limit. */
  readText(bytesMax: number): Promise<CappedText>;
}

type CallContext = Pick<JobContext<unknown>, "env" | "signal" | "outboundFetch">;

/**
 * Makes the call and gives its answer to `take`; the body is cancelled when `take` is done.
 *
 * Errors: throws `FatalError` for a URL that must not be called, the signal's reason when the
 *         attempt is told to stop, and a retryable error when no complete answer came in time.
 */
export async function callOutbound<Result>(
  request: OutboundRequest,
  { env, signal, outboundFetch }: CallContext,
  take: (answer: OutboundAnswer) => Promise<Result>,
): Promise<Result> {
  const refusal = urlRefusal(request.url, env.OUTBOUND_ALLOW);
  if (refusal !== null) throw new FatalError(refusal);
  // Exactly the URL that was judged is called, not another reading of its text.
  const { href, host } = new URL(request.url);
  const limit = new AbortController();
  const timer = setTimeout(() => {
    limit.abort(new Error(`${host} gave no complete answer in ${request.timeoutSeconds} s`));
  }, request.timeoutSeconds * 1000);
  const stop = AbortSignal.any([signal, limit.signal]);
  const { method, headers, body } = request;
  try {
    const response = await withSafeFaults(host, stop, () =>
      // A redirect would lead past the policy, so it is an answer like any other.
      outboundFetch(href, { method, headers, body, redirect: "manual", signal: stop }),
    );
    const readText = (bytesMax: number) =>
      withSafeFaults(host, stop, () => readCapped(response.body, bytesMax, stop));
    try {
      return await take({ status: response.status, headers: response.headers, host, readText });
    } finally {
      // Rejects for a body that was read, which has ended its own way.
      response.body?.cancel().catch(() => undefined);
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Not there yet, or not now: the same request can succeed later. */
const RETRYABLE_STATUSES = new Set([408, 409, 425, 429]);

/** Makes the failure that an unwanted answer stands for; `detail` must be safe to store. */
export function answerFailure({ status, headers, host }: OutboundAnswer, detail = ""): Error {
  const code = `http_${status}`;
  const message = `${host} answered ${status}${detail && `: ${detail}`}`;
  if (status >= 300 && status < 400) {
    return new FatalError(`${message}; redirects are not followed`, { code });
  }
  if (status < 500 && !RETRYABLE_STATUSES.has(status)) return new FatalError(message, { code });
  const retryAfterSeconds = readRetryAfterSeconds(headers);
  if (retryAfterSeconds !== undefined) {
    return new RetryAfterError(retryAfterSeconds, message, { code });
  }
  return Object.assign(new Error(message), { status });
}

/** Puts faults of the network into words of our own: libraries quote URLs and header values. */
async function withSafeFaults<Result>(
  host: string,
  stop: AbortSignal,
  step: () => Promise<Result>,
): Promise<Result> {
  try {
    return await step();
  } catch (error) {
    if (stop.aborted) throw stop.reason;
    if (error instanceof FatalError) throw error;
    throw new Error(`the call to ${host} failed (${faultCode(error)})`, { cause: error });
  }
}

/** Finds a code like ECONNREFUSED, which fetch hides in the cause of a TypeError. */
function faultCode(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    const code = "code" in at ? at.code : undefined;
    if (typeof code === "string" && /^[A-Z][A-Z0-9_]{1,60}$/.test(code)) return code;
  }
  return "network failure";
}
