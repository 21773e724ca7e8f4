/** The fingerprint of a request: what makes two requests "the same" (I6). */

import type { Json } from "./job.js";

/**
 * Hashes method, path and body so that member order and white space do not matter, and everything
 * else does.
 *
 * Shape: hexadecimal SHA-256. Numbers compare as JSON numbers (1.0 is 1), text by code points.
 */
export async function fingerprint(method: string, path: string, body: Json): Promise<string> {
  const text = `${method} ${path}\n${canonicalText(body)}`;
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Writes a JSON value with its members in order of their UTF-16 units, as RFC 8785 does.
 *
 * Recursion is safe because bodies nested deeper than `JSON_DEPTH_MAX` are refused before.
 */
export function canonicalText(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.keys(value).sort();
  return `{${members
    .map((name) => `${JSON.stringify(name)}:${canonicalText(value[name] as Json)}`)
    .join(",")}}`;
}
