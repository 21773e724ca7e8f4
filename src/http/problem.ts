/** RFC 9457 problem details: the closed list of codes, and the one shape in which all are answered. */

interface ProblemKind {
  status: number;
  title: string;
  /** For answers that always ask for the same wait. */
  retryAfterSeconds?: number;
}

/** Every code that HTTP answers; each has a section in the documentation. */
export const PROBLEMS = {
  malformed_json: { status: 400, title: "The body is not JSON" },
  invalid_query: { status: 400, title: "The query cannot be understood" },
  invalid_cursor: { status: 400, title: "The cursor is not one of this list" },
  idempotency_key_missing: { status: 400, title: "The Idempotency-Key header is missing" },
  idempotency_key_invalid: { status: 400, title: "The Idempotency-Key header cannot be used" },
  unauthorized: { status: 401, title: "The caller is not known" },
  forbidden: { status: 403, title: "The key's role does not allow this" },
  not_found: { status: 404, title: "Nothing is here" },
  method_not_allowed: { status: 405, title: "The path does not take this method" },
  idempotency_key_reused: { status: 409, title: "The key belongs to another request" },
  job_not_cancellable: { status: 409, title: "The job has ended" },
  job_not_replayable: { status: 409, title: "The job is not a dead letter and not cancelled" },
  job_not_waiting: { status: 409, title: "The job does not wait for a later time" },
  dedupe_conflict: { status: 409, title: "An active job holds the dedupe key" },
  dedupe_job_cancelling: {
    status: 409,
    title: "The active job with this dedupe key is being cancelled",
    retryAfterSeconds: 5,
  },
  effect_not_unknown: { status: 409, title: "The effect's outcome is known or still open" },
  schedule_exists: { status: 409, title: "A schedule has this name" },
  payload_too_large: { status: 413, title: "The body is too large" },
  unsupported_media_type: { status: 415, title: "The body must be JSON in UTF-8" },
  validation_failed: { status: 422, title: "The request does not fit its schema" },
  unknown_job_type: { status: 422, title: "The job type is not registered here" },
  too_many_requests: { status: 429, title: "Too many requests" },
  internal: { status: 500, title: "The request failed on our side" },
  store_unavailable: { status: 503, title: "The database did not answer", retryAfterSeconds: 5 },
  not_ready: { status: 503, title: "The deployment is not ready", retryAfterSeconds: 10 },
  misconfigured: { status: 503, title: "The deployment is misconfigured", retryAfterSeconds: 60 },
  job_running: { status: 409, title: "The job runs under this very message" },
  job_locked: { status: 503, title: "The job's row is locked at this moment" },
  publish_failed: { status: 503, title: "The next message could not be published" },
  job_unknown: { status: 503, title: "The job does not exist, or not yet" },
  delivery_malformed: { status: 489, title: "The delivery is not one of our messages" },
} as const satisfies Record<string, ProblemKind>;

export type ProblemCode = keyof typeof PROBLEMS;

/** A refused place in the body: a JSON Pointer as a URI fragment, and what is wrong there. */
export interface ProblemPlace {
  pointer: string;
  detail: string;
}

export interface ProblemOptions {
  /** For the one code whose status depends on the case. */
  status?: number;
  errors?: ProblemPlace[];
  headers?: Record<string, string>;
  retryAfterSeconds?: number;
  /** Extension members of this answer. */
  members?: Record<string, unknown>;
}

/** More refused places than this help nobody, and an answer must not outgrow its request. */
export const ERRORS_MAX = 100;

/** Ends a request with problem details. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly status: number;
  readonly options: ProblemOptions;
  /** @param detail constant text where the status is 5xx */
  constructor(code: ProblemCode, detail: string, options: ProblemOptions = {}) {
    super(detail);
    this.name = "Problem";
    this.code = code;
    this.status = options.status ?? PROBLEMS[code].status;
    this.options = options;
  }
}

/** Makes the one answer for ids that do not exist, cannot exist, or belong to somebody else. */
export function notFound(): Problem {
  return new Problem("not_found", "Nothing is here that you may see.");
}

/** Gives what a person is told of a problem. */
export function describeProblem({ code, status, message: detail }: Problem): {
  status: number;
  title: string;
  detail: string;
} {
  return { status, title: PROBLEMS[code].title, detail };
}

/** Writes a problem as its response. */
export function problemResponse(
  problem: Problem,
  { requestId, publicUrl }: { requestId: string; publicUrl: string },
): Response {
  const { code, status, message: detail, options } = problem;
  const kind: ProblemKind = PROBLEMS[code];
  const headers = new Headers(options.headers);
  headers.set("Content-Type", "application/problem+json");
  const retryAfterSeconds = options.retryAfterSeconds ?? kind.retryAfterSeconds;
  if (retryAfterSeconds !== undefined) {
    headers.set("Retry-After", String(Math.max(0, Math.ceil(retryAfterSeconds))));
  }
  const errors = options.errors?.slice(0, ERRORS_MAX);
  const type = `${publicUrl}/api/docs#${code}`;
  const body = { type, title: kind.title, status, detail, code, requestId, errors };
  return new Response(JSON.stringify({ ...body, ...options.members }), { status, headers });
}
