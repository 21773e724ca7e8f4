/** A bar on a terminal; elsewhere only its last words. */

import type { Output } from "./io.js";

export interface Progress {
  add(amount: number, words: string): void;
  end(words: string): void;
}

const BAR_WIDTH = 30;
const CLEAR_LINE = "\r\u001b[K";

/** Starts at nothing of the total; a quiet one says nothing at all. */
export function startProgress(output: Output, quiet: boolean, total: number): Progress {
  const isLive = output.isTTY === true && !quiet;
  let done = 0;
  let percentShown = -1;
  return {
    add(amount, words) {
      done += amount;
      const percent = total > 0 ? Math.min(100, Math.floor((done / total) * 100)) : 100;
      // A terminal is slower than the work that it shows.
      if (!isLive || percent === percentShown) return;
      percentShown = percent;
      const filled = Math.round((percent / 100) * BAR_WIDTH);
      const bar = "█".repeat(filled) + "░".repeat(BAR_WIDTH - filled);
      output.write(`${CLEAR_LINE}${bar} ${String(percent).padStart(3)} %  ${words}`);
    },
    end(words) {
      if (!quiet) output.write(`${isLive ? CLEAR_LINE : ""}${words}\n`);
    },
  };
}
