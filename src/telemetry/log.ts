/** One JSON line per event, from the closed list of `core/ports`. */

import type { Log } from "../core/log-events.js";

/** Makes the log of one request; `context` is added to each of its lines. */
export function createLog(
  write: (line: string) => void,
  context: Record<string, string | undefined>,
): Log {
  return (event, fields) => {
    write(JSON.stringify({ event, at: new Date().toISOString(), ...context, ...fields }));
  };
}
