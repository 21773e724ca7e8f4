/** Values of handlers on their way into jsonb. */

import { type Json, RESULT_BYTES_MAX } from "../core/job.js";

/** Why a value is not stored; null when it is. */
export type Omitted = "too_large" | "not_json" | null;

/**
 * Gives a value as it will come back from the store, or null with the reason why it is not stored.
 *
 * Shape: `undefined` is null; a value is never altered to fit, since a wrong result is worse than none.
 */
export function storableJson(
  value: unknown,
  bytesMax: number = RESULT_BYTES_MAX,
): { value: Json; omitted: Omitted } {
  if (value === undefined || value === null) return { value: null, omitted: null };
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    // A cycle, a BigInt, or a toJSON that throws.
    return { value: null, omitted: "not_json" };
  }
  // jsonb refuses NUL and lone surrogates, which JSON.stringify writes as these escapes.
  if (text === undefined || /(^|[^\\])(\\\\)*\\u(0000|d[89a-f])/i.test(text)) {
    return { value: null, omitted: "not_json" };
  }
  if (new TextEncoder().encode(text).length > bytesMax)
    return { value: null, omitted: "too_large" };
  return { value: JSON.parse(text) as Json, omitted: null };
}
