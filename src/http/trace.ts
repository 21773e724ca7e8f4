/** What ties a request to its log lines: the request's id and its W3C trace context. */

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;
/** Version 00 of https://www.w3.org/TR/trace-context/; ids of zeros only are invalid. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Takes over the client's request id if it is sane, else makes one. */
export function requestIdOf(headers: Headers): string {
  const given = headers.get("X-Request-Id");
  return given !== null && REQUEST_ID.test(given) ? given : crypto.randomUUID();
}

/** Takes over the caller's trace if it is well formed, else starts one. */
export function traceparentOf(headers: Headers): string {
  const given = headers.get("traceparent");
  if (given !== null && TRACEPARENT.test(given)) return given;
  return `00-${randomHex(16)}-${randomHex(8)}-01`;
}

function randomHex(bytesCount: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(bytesCount));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
