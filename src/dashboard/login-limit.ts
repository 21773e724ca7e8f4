/** Slows down guessing of keys at the login, as far as one instance can. */

const WINDOW_MS = 60_000;
/** A person who mistypes a key does so less often. */
const FAILURES_OF_ADDRESS_MAX = 5;
/** Also where every guess claims another address; bounds the memory as well. */
const FAILURES_MAX = 60;

export interface LoginLimit {
  /** Gives the seconds to wait before another attempt is looked at; 0 for none. */
  waitSeconds(address: string, nowMs: number): number;
  /** Counts an attempt as failed until it is known better; gives what takes it back. */
  begin(address: string, nowMs: number): { succeeded(): void };
}

/**
 * Counts failed logins of this instance, by address and in all.
 *
 * Shape: in memory, since a counter in the database would let strangers write to it, and keep it
 *        awake. Another instance counts for itself, and keys of the API are not guessed more slowly
 *        there: what protects them is their length.
 */
export function createLoginLimit(): LoginLimit {
  let failures: { address: string; atMs: number }[] = [];
  return {
    waitSeconds(address, nowMs) {
      failures = failures.filter(({ atMs }) => nowMs - atMs < WINDOW_MS);
      const own = failures.filter((each) => each.address === address);
      const full =
        own.length >= FAILURES_OF_ADDRESS_MAX
          ? own
          : failures.length >= FAILURES_MAX
            ? failures
            : [];
      const [oldest] = full;
      return oldest ? Math.max(1, Math.ceil((oldest.atMs + WINDOW_MS - nowMs) / 1000)) : 0;
    },
    begin(address, nowMs) {
      // At once, or many attempts at the same time would all be looked at.
      const attempt = { address, atMs: nowMs };
      failures.push(attempt);
      return {
        succeeded() {
          failures = failures.filter((each) => each !== attempt);
        },
      };
    },
  };
}

/** The client's address as the platform vouches for it; the last hop, where proxies add to a list. */
export function addressOf(headers: Headers): string {
  const forwarded = headers.get("X-Forwarded-For")?.split(",").at(-1)?.trim();
  return headers.get("CF-Connecting-IP") ?? headers.get("X-Real-IP") ?? forwarded ?? "";
}
