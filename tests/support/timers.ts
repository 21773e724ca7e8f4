/** Timers in virtual time: long waits fire when the test advances, short ones at once. */

import type { Timers } from "../../src/core/ports.js";

interface Sleeper {
  dueAtMs: number;
  wake: () => void;
}

/** Timers that a test drives. */
export interface VirtualTimers extends Timers {
  /** Moves virtual time on and fires what became due, in order. */
  advance(milliseconds: number): Promise<void>;
  /** How many waits are open: heartbeats, deadlines. */
  waiting(): number;
}

/**
 * Makes timers for one test.
 *
 * Shape: a wait without a signal is a short bridge (a locked row, a job due in a moment): it moves
 *        the whole world on by its length and returns; waits with a signal are the test's to fire.
 */
export function virtualTimers(moveWorld: (milliseconds: number) => Promise<void>): VirtualTimers {
  const sleepers = new Set<Sleeper>();
  let nowMs = 0;
  return {
    async sleep(milliseconds, signal) {
      if (!signal) return moveWorld(milliseconds);
      if (signal.aborted) return;
      await new Promise<void>((resolve) => {
        const sleeper: Sleeper = { dueAtMs: nowMs + milliseconds, wake: resolve };
        sleepers.add(sleeper);
        signal.addEventListener(
          "abort",
          () => {
            sleepers.delete(sleeper);
            resolve();
          },
          { once: true },
        );
      });
    },
    async advance(milliseconds) {
      nowMs += milliseconds;
      const due = [...sleepers].filter(({ dueAtMs }) => dueAtMs <= nowMs);
      for (const sleeper of due.sort((a, b) => a.dueAtMs - b.dueAtMs)) {
        sleepers.delete(sleeper);
        sleeper.wake();
      }
    },
    waiting: () => sleepers.size,
  };
}
