import { parseSecondsOrDurationMs } from "./duration.js";

/** Response headers that set the next delivery time, in the order in which they are asked. */
const steeringHeaders = [
  "retry-after",
  "x-ratelimit-reset",
  "x-ratelimit-reset-requests",
  "x-ratelimit-reset-tokens",
];

const maxDelayMs = 86_400_000;

/** Reads the delay the destination asked for: seconds, an HTTP date or a Go duration. */
export function readRetryAfterMs(headers: Headers, now: number): number | undefined {
  for (const name of steeringHeaders) {
    const delayMs = parseDelayMs(headers.get(name), now);
    if (delayMs === undefined) continue;
    // More than a day is not obeyed at all: the usual backoff takes over.
    return delayMs > maxDelayMs ? undefined : delayMs;
  }
  return undefined;
}

function parseDelayMs(value: string | null, now: number): number | undefined {
  if (value === null) return undefined;
  const durationMs = parseSecondsOrDurationMs(value);
  if (durationMs !== undefined) return durationMs;
  // Date.parse alone would read "-5" or "next" as some date; an HTTP date names its weekday.
  if (!/^[A-Z][a-z]{2,8},? /.test(value.trim())) return undefined;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
