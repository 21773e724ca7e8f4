import type { State } from "../state/state.js";
import type { DeliveryLoop } from "./loop.js";

const longestTimerMs = 2 ** 31 - 1; // Node fires a longer timer at once.

/** Runs the loop with the clock: one timer, set to the next thing that happens. Returns the stop. */
export function runLive(state: State, loop: DeliveryLoop): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isQueued = false;
  let isStopped = false;

  const look = () => {
    isQueued = false;
    if (isStopped) return;
    loop.tick();
    for (const message of loop.takeReady()) void loop.deliver(message, 1).catch(report);
    clearTimeout(timer);
    const waitMs = msToNextEvent(state, loop);
    if (waitMs !== undefined) timer = setTimeout(look, waitMs);
  };
  // Many changes in one turn of the event loop (a batch) cost one look.
  state.onChange = () => {
    if (isQueued) return;
    isQueued = true;
    queueMicrotask(look);
  };
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

function msToNextEvent(state: State, loop: DeliveryLoop): number | undefined {
  const nextAt = loop.nextEventAt();
  const waits = [loop.msToNextDeadline(), nextAt && state.clock.realMsUntil(nextAt)];
  const known = waits.filter((ms) => ms !== undefined);
  if (known.length === 0) return undefined;
  return Math.min(longestTimerMs, Math.max(0, Math.ceil(Math.min(...known))));
}

function report(error: unknown): void {
  console.error("[qstash] a delivery failed in the stand-in itself:", error);
}
