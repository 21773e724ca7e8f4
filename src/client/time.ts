/** Waiting, and work that ends when its time is up or its caller gives up. */

/** Resolves after the time, or early when the signal aborts. */
export type Sleep = (milliseconds: number, signal?: AbortSignal) => Promise<void>;

/** Timers take a longer time for none at all; three weeks are as good as for ever. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export const sleepWithTimer: Sleep = (milliseconds, signal) =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, Math.min(milliseconds, TIMER_MS_MAX));
    if (signal?.aborted) end();
    else signal?.addEventListener("abort", end);
  });

export interface Limits {
  sleep: Sleep;
  limitMs: number;
  /** Thrown when the time is up. */
  expired: () => Error;
  /** The caller's; its reason is thrown when it aborts. */
  signal: AbortSignal | undefined;
}

/** Runs work within limits, and ends at once with them, also where the work heeds no signal. */
export async function within<Result>(
  { sleep, limitMs, expired, signal }: Limits,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  signal?.throwIfAborted();
  const limits = new AbortController();
  const giveUp = (): void => limits.abort(signal?.reason);
  signal?.addEventListener("abort", giveUp);
  const over = new Promise<never>((_, reject) => {
    limits.signal.addEventListener("abort", () => reject(limits.signal.reason));
  });
  void sleep(limitMs, limits.signal).then(() => limits.abort(expired()));
  try {
    return await Promise.race([work(limits.signal), over]);
  } finally {
    signal?.removeEventListener("abort", giveUp);
    // Stops the timer, and work that lost the race.
    limits.abort();
  }
}
