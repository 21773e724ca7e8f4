/** The wait between a failed attempt and the next one. */

/** Bounds of the backoff of a type; all in seconds. */
export interface Backoff {
  baseSeconds: number;
  maxSeconds: number;
  jitterSeconds: number;
}

export const DEFAULT_BACKOFF: Backoff = { baseSeconds: 30, maxSeconds: 3600, jitterSeconds: 15 };

/**
 * Computes `min(max, base * 2^n)`: the delay before jitter after the n-th failure in a row.
 *
 * Shape: `budgetUsed` counts attempts of the present budget, 1 at the first failure.
 * Units: seconds; never below 1, never above `maxSeconds`, whatever the inputs.
 */
export function delayWithoutJitterSeconds(backoff: Backoff, budgetUsed: number): number {
  // 2^40 s is beyond any maximum, and a bounded exponent cannot overflow to Infinity.
  const doublings = Math.min(40, Math.max(0, Math.trunc(budgetUsed) - 1 || 0));
  const delay = Math.min(backoff.maxSeconds, backoff.baseSeconds * 2 ** doublings);
  return Math.max(1, Number.isFinite(delay) ? delay : backoff.maxSeconds);
}

/**
 * Computes the delay with jitter, so that jobs which failed together do not return together.
 *
 * @param random a number in [0, 1), made by the caller: core has no randomness of its own
 */
export function delaySeconds(backoff: Backoff, budgetUsed: number, random: number): number {
  return delayWithoutJitterSeconds(backoff, budgetUsed) + random * backoff.jitterSeconds;
}

/** Lists the delays of every possible failure of a budget, for statements that recover many jobs. */
export function delayTable(backoff: Backoff, maxAttempts: number): number[] {
  return Array.from({ length: maxAttempts }, (_, n) => delayWithoutJitterSeconds(backoff, n + 1));
}
