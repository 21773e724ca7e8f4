/**
 * Decides which request headers a caller may choose.
 *
 * Authorization and Cookie are allowed: they are the caller's own credentials for the target. They
 * are stored with the payload, so short-lived ones are better.
 */

import type { PayloadIssue } from "../../core/define-job.js";

/** RFC 9110 `token`. */
const NAME_PATTERN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Visible ASCII, spaces and tabs: no line breaks or NUL, and nothing whose encoding is a guess. */
const VALUE_PATTERN = /^[\t\x20-\x7e]*$/;
const COUNT_MAX = 50;
const BYTES_MAX = 8_192;

/** Set by the HTTP stack, or by us so that receivers can rely on them. */
const RESERVED_NAMES = new Set([
  "host",
  "content-length",
  "transfer-encoding",
  "connection",
  "keep-alive",
  "upgrade",
  "http2-settings",
  "te",
  "trailer",
  "expect",
  "via",
  // Answers are decoded here, and only in the codings that are asked for here.
  "accept-encoding",
  "idempotency-key",
]);
const RESERVED_PREFIXES = ["proxy-", "webhook-", "sec-"];

/** Lists what is wrong with a caller's headers, by name; values are never repeated. */
export function headerIssues(headers: Readonly<Record<string, string>>): PayloadIssue[] {
  const entries = Object.entries(headers);
  const issues: PayloadIssue[] = [];
  const seen = new Set<string>();
  for (const [name, value] of entries) {
    const message = nameFault(name, seen) ?? valueFault(value);
    if (message !== null) issues.push({ path: [name], message });
    seen.add(name.toLowerCase());
  }
  const bytes = entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (entries.length > COUNT_MAX || bytes > BYTES_MAX) {
    issues.push({ path: [], message: `more than ${COUNT_MAX} headers or ${BYTES_MAX} bytes` });
  }
  return issues;
}

function nameFault(name: string, seen: ReadonlySet<string>): string | null {
  const lower = name.toLowerCase();
  if (!NAME_PATTERN.test(name)) return "is not a header name";
  if (RESERVED_NAMES.has(lower) || RESERVED_PREFIXES.some((prefix) => lower.startsWith(prefix))) {
    return "is a reserved header and cannot be set";
  }
  return seen.has(lower) ? "repeats a header that differs only in case" : null;
}

function valueFault(value: string): string | null {
  return VALUE_PATTERN.test(value)
    ? null
    : "may hold visible ASCII characters, spaces and tabs only";
}
