/** Showing something again and again, until the process is asked to stop. */

import type { Session } from "./session.js";

/** Of `--watch [seconds]`: true stands for the default. */
export type WatchOption = boolean | string | number | undefined;

const DEFAULT_SECONDS = 2;
/** Moves to the top and clears what is below, which flickers less than clearing first. */
const TOP = "\u001b[H";
const CLEAR_BELOW = "\u001b[J";
const CLEAR_ALL = "\u001b[2J";

/** Shows once, or over and over; a terminal shows it in place. */
export async function watching(
  { io, json }: Session,
  option: WatchOption,
  showOnce: () => Promise<void>,
): Promise<void> {
  if (option === undefined || option === false) return showOnce();
  const inPlace = io.stdout.isTTY === true && !json;
  const seconds = typeof option === "number" ? option : DEFAULT_SECONDS;
  if (inPlace) io.stdout.write(CLEAR_ALL);
  while (!io.stop.aborted) {
    if (inPlace) io.stdout.write(TOP);
    try {
      await showOnce();
    } catch (error) {
      // To stop is how watching ends.
      if (io.stop.aborted) return;
      throw error;
    }
    if (inPlace) io.stdout.write(CLEAR_BELOW);
    await io.sleep(Math.max(1, seconds) * 1000, io.stop);
  }
}
