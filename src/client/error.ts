/** The one error of this client: every refusal and every failure, told apart by its code. */

/** What the API answers; the documentation has a section for each. */
export type ApiErrorCode =
  | "malformed_json"
  | "invalid_query"
  | "invalid_cursor"
  | "idempotency_key_missing"
  | "idempotency_key_invalid"
  | "unauthorized"
  | "forbidden"
  | "not_found"
  | "method_not_allowed"
  | "idempotency_key_reused"
  | "job_not_cancellable"
  | "job_not_replayable"
  | "job_not_waiting"
  | "dedupe_conflict"
  | "dedupe_job_cancelling"
  | "effect_not_unknown"
  | "schedule_exists"
  | "payload_too_large"
  | "unsupported_media_type"
  | "validation_failed"
  | "unknown_job_type"
  | "too_many_requests"
  | "internal"
  | "store_unavailable"
  | "not_ready"
  | "misconfigured";

/**
 * What this client found itself: no answer (`network_error`), an answer that is not the API's, such
 * as a gateway's page or a redirect (`unexpected_response`), or a job that had not ended in the
 * time that `waitFor` was given (`wait_timeout`).
 */
export type LocalErrorCode = "network_error" | "unexpected_response" | "wait_timeout";

export type ErrorCode = ApiErrorCode | LocalErrorCode;

/** A refused place in the request: a JSON Pointer such as `#/payload/to`, and what is wrong. */
export interface RefusedPlace {
  pointer: string;
  detail: string;
}

/** What an error knows besides its code and detail. */
export interface ErrorFacts {
  status?: number;
  errors?: readonly RefusedPlace[];
  requestId?: string;
  retryAfterSeconds?: number;
  activeJobId?: string;
  idempotencyKey?: string;
  tries?: number;
  cause?: unknown;
}

/** The places that fit into a message; `errors` has all. */
const PLACES_IN_MESSAGE = 3;

/** Thrown by every method; a caller's own abort is thrown as the signal's reason instead. */
export class AntreanError extends Error {
  /** Newer servers may know more codes, so a `switch` should have a default. */
  readonly code: ErrorCode;
  /** The HTTP status; undefined when there was no answer. */
  readonly status: number | undefined;
  readonly detail: string;
  readonly errors: readonly RefusedPlace[];
  /** Finds the request in the server's logs. */
  readonly requestId: string | undefined;
  /** How long the server asks to wait before the next try. */
  readonly retryAfterSeconds: number | undefined;
  /** With `dedupe_conflict`: the job that holds the dedupe key. */
  readonly activeJobId: string | undefined;
  /**
   * The key of a failed enqueue. Whether it was accepted may be unknown: pass this key to the same
   * call, and nothing is created twice.
   */
  readonly idempotencyKey: string | undefined;
  /** How often the request was sent. */
  readonly tries: number;

  constructor(code: ErrorCode, detail: string, facts: ErrorFacts = {}) {
    const errors = facts.errors ?? [];
    const places = errors.slice(0, PLACES_IN_MESSAGE).map((it) => `${it.pointer} ${it.detail}`);
    super([`${code}: ${detail}`, ...places].join("; "), { cause: facts.cause });
    this.name = "AntreanError";
    this.code = code;
    this.status = facts.status;
    this.detail = detail;
    this.errors = errors;
    this.requestId = facts.requestId;
    this.retryAfterSeconds = facts.retryAfterSeconds;
    this.activeJobId = facts.activeJobId;
    this.idempotencyKey = facts.idempotencyKey;
    this.tries = facts.tries ?? 1;
  }
}
