/** The stand-in's idea of time, in epoch milliseconds. */
export interface Clock {
  /** The virtual time: due dates, windows, retention and events go by it. */
  now(): number;
  /**
   * The time delivery timeouts go by: virtual while a test drives the clock, real when it runs, since a
   * destination works in real time however fast the virtual clock goes.
   */
  workNow(): number;
  advance(ms: number): void;
  /** How long a real timer must wait for the virtual instant. */
  realMsUntil(at: number): number;
}

/** A clock that stands still until it is advanced. */
export function manualClock(startAt: number): Clock {
  let now = Math.floor(startAt);
  return {
    now: () => now,
    workNow: () => now,
    advance: (ms) => {
      now += ms;
    },
    realMsUntil: (at) => at - now,
  };
}

/** A clock that runs `speed` times as fast as real time. */
export function runningClock(startAt: number, speed: number): Clock {
  const startedAt = performance.now();
  let skippedMs = 0;
  const now = () => Math.floor(startAt + skippedMs + (performance.now() - startedAt) * speed);
  return {
    now,
    workNow: () => performance.now(),
    advance: (ms) => {
      skippedMs += ms;
    },
    realMsUntil: (at) => (at - now()) / speed,
  };
}
