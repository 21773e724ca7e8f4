/** Values of handlers on their way into jsonb. */

import { type Json, RESULT_BYTES_MAX } from "../core/job.js";
import { restoreNames, withPlainNames } from "../core/parse-json.js";

/** Why a value is not stored; null when it is. */
export type Omitted = "too_large" | "too_deep" | "not_json" | null;

/** PostgreSQL reads JSON by recursion within its stack, which some 10,000 levels overflow. */
const DEPTH_MAX = 1000;

/**
 * Gives a value as it will come back from the store, or null with the reason why it is not stored.
 *
 * Shape: `undefined` is null; a value is what JSON makes of it (NaN is null), and is never cut to fit, since a wrong
 *        result is worse than none.
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
  if (text === undefined) return { value: null, omitted: "not_json" };
  // Before the pattern, which throws on millions of backslashes: it keeps a place for each pair.
  if (new TextEncoder().encode(text).length > bytesMax)
    return { value: null, omitted: "too_large" };
  // jsonb refuses NUL and lone surrogates, which JSON.stringify writes as these escapes.
  if (/(^|[^\\])(\\\\)*\\u(0000|d[89a-f])/i.test(text)) return { value: null, omitted: "not_json" };
  const plain = withPlainNames(text);
  const stored = JSON.parse(plain.text) as Json;
  return isTooDeep(stored)
    ? { value: null, omitted: "too_deep" }
    : { value: restoreNames(stored, plain.names), omitted: null };
}

/** Goes level by level, so that depth costs no stack here either. */
function isTooDeep(value: Json): boolean {
  let level: Json[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > DEPTH_MAX) return true;
    level = level.flatMap((each) =>
      typeof each === "object" && each !== null ? Object.values(each) : [],
    );
  }
  return false;
}
