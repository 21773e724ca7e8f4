/** Cross-origin access for the origins of `CORS_ORIGINS`, and for nobody else. */

/** Adds the headers that let a listed origin read an answer, or send a request. */
export type Cors = (request: Request, answer: Headers) => void;

const EXPOSED_HEADERS = "Location, Retry-After, Idempotent-Replayed, X-Request-Id";
const REQUEST_HEADERS = "Authorization, Content-Type, Idempotency-Key, X-Request-Id, traceparent";
const PREFLIGHT_SECONDS = 600;

/** Makes the rule from a comma-separated list of exact origins; none by default. */
export function createCors(origins: string | undefined): Cors {
  const listed = new Set(
    (origins ?? "")
      .split(",")
      .map((each) => each.trim())
      .filter(Boolean),
  );
  return (request, answer) => {
    if (listed.size === 0) return;
    // Also for other origins: a cache must not give one origin's answer to another.
    answer.append("Vary", "Origin");
    const origin = request.headers.get("Origin");
    if (origin === null || !listed.has(origin)) return;
    answer.set("Access-Control-Allow-Origin", origin);
    answer.set("Access-Control-Expose-Headers", EXPOSED_HEADERS);
    if (request.method !== "OPTIONS") return;
    answer.set("Access-Control-Allow-Methods", answer.get("Allow") ?? "");
    answer.set("Access-Control-Allow-Headers", REQUEST_HEADERS);
    answer.set("Access-Control-Max-Age", String(PREFLIGHT_SECONDS));
  };
}
