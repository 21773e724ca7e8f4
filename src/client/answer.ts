/** Reads answers: what was asked for, or the error that was answered instead. */

import { AntreanError, type ApiErrorCode, type ErrorFacts, type RefusedPlace } from "./error.js";

/** The members of problem details that this client knows. */
interface Problem {
  code: ApiErrorCode;
  detail: string;
  requestId?: string;
  errors?: RefusedPlace[];
  activeJobId?: string;
}

/**
 * Gives the JSON of a success.
 *
 * Errors: throws the `AntreanError` that anything else stands for; `facts` are added to it.
 */
export function readAnswer<Answer>(response: Response, text: string, facts: ErrorFacts): Answer {
  const { status, headers } = response;
  const mediaType = headers.get("Content-Type") ?? "no content type";
  const json = /^application\/(?:problem\+)?json\b/i.test(mediaType) ? parse(text) : undefined;
  if (response.ok && json !== undefined) return json as Answer;
  const problem = (/problem/i.test(mediaType) ? json : undefined) as Problem | undefined;
  const {
    code = "unexpected_response",
    detail = `The answer is not one of the API: ${status}, ${mediaType}.`,
    requestId = headers.get("X-Request-Id") ?? undefined,
    errors,
    activeJobId,
  } = problem ?? {};
  const retryAfterSeconds = readRetryAfterSeconds(headers);
  const read = { status, requestId, errors, activeJobId, retryAfterSeconds };
  throw new AntreanError(code, detail, { ...facts, ...read });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Dates are measured from the answer's own, so that neither clock has to be right. */
function readRetryAfterSeconds(headers: Headers): number | undefined {
  const text = headers.get("Retry-After") ?? "";
  const seconds = /^\d+$/.test(text)
    ? Number(text)
    : (Date.parse(text) - Date.parse(headers.get("Date") ?? "")) / 1000;
  return seconds >= 0 ? seconds : undefined;
}
