import { createHash } from "node:crypto";
import { ApiError } from "./api-error.js";
import { canonicalHeaderName, type HeaderList } from "./headers.js";

/** What the API hides of a message; the delivery itself is never changed. */
export interface Redaction {
  readonly body: boolean;
  /** "all", or the canonical names of the hidden ones. */
  readonly headers: "all" | readonly string[];
}

/** Reads `Upstash-Redact-Fields`: `body`, `header` (all of them), `header[Name]`, comma separated. */
export function parseRedaction(value: string | null): Redaction {
  let body = false;
  let all = false;
  const names: string[] = [];
  for (const field of (value ?? "").split(",").map((part) => part.trim())) {
    const named = /^headers?\[([^\]]+)\]$/.exec(field)?.[1];
    if (field === "") continue;
    if (field === "body") body = true;
    else if (field === "header" || field === "headers") all = true;
    else if (named) names.push(canonicalHeaderName(named));
    else throw new ApiError(400, `invalid Upstash-Redact-Fields: ${field}`);
  }
  return { body, headers: all ? "all" : names };
}

/** Replaces the values of hidden headers. */
export function redactHeaders(headers: HeaderList, redaction: Redaction): HeaderList {
  const hidden = (name: string) => redaction.headers === "all" || redaction.headers.includes(name);
  return headers.map(([name, value]) => [name, hidden(name) ? redacted(value) : value] as const);
}

/** The text shown in place of a hidden value: equal values stay recognisable as equal. */
export function redacted(value: string | Uint8Array): string {
  return `REDACTED:${createHash("sha256").update(value).digest("hex")}`;
}
