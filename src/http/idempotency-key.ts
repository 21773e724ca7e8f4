/** The Idempotency-Key header. */

import { Problem } from "./problem.js";

const KEY_LENGTH_MAX = 255;
/** Repeated headers arrive joined by a comma and a space, and a bare key holds no space. */
const BARE_KEY = /^[\x21\x23-\x7e][\x21-\x7e]*$/;
/** A string of RFC 9651: quotes and backslashes inside are escaped, nothing else is. */
const QUOTED_KEY = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;

/**
 * Reads the key, bare or as a quoted structured-field string; both forms are the same key.
 *
 * Shape:  a bare key does not begin with a quote, so that a broken string is no key of its own.
 * Errors: `idempotency_key_missing` for a blank one, `idempotency_key_invalid`.
 */
export function readIdempotencyKey(headers: Headers): string {
  // Without the white space of HTTP around it; any other is part of a key that cannot be used.
  const header = headers.get("Idempotency-Key") ?? "";
  const quoted = QUOTED_KEY.exec(header)?.[1]?.replace(/\\(.)/g, "$1");
  const key = quoted ?? header;
  if (key.trim() === "") {
    const detail = "Send an Idempotency-Key that is new for every new request.";
    throw new Problem("idempotency_key_missing", detail);
  }
  if ((quoted === undefined && !BARE_KEY.test(header)) || key.length > KEY_LENGTH_MAX) {
    const detail = `One header of 1 to ${KEY_LENGTH_MAX} visible ASCII characters, bare or quoted.`;
    throw new Problem("idempotency_key_invalid", detail);
  }
  return key;
}
