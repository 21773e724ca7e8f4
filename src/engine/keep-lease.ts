/** The heartbeat of a running attempt. */

import type { ClaimedAttempt, HeartbeatOutcome } from "../core/attempt.js";
import { AttemptAbortedError, LeaseLostError } from "../core/errors.js";
import type { Ports } from "../core/ports.js";

/** Cancel requests should not wait longer than this, however long the lease is. */
const HEARTBEAT_SECONDS_MAX = 20;

/**
 * Extends the lease until `done`, and aborts the handler on a lost lease or a cancel request.
 *
 * Units: a beat every third of the lease, at most 20 s, so that two may fail before it runs out.
 * Errors: an unreachable store is logged and tried again at the next beat.
 */
export async function keepLease(
  ports: Ports,
  attempt: ClaimedAttempt,
  abort: AbortController,
  done: AbortSignal,
): Promise<void> {
  const beatMs = Math.min(attempt.leaseSeconds / 3, HEARTBEAT_SECONDS_MAX) * 1000;
  for (;;) {
    await ports.timers.sleep(beatMs, done);
    if (done.aborted) return;
    try {
      const outcome = await ports.store.heartbeat(attempt, undefined);
      obey(outcome, abort);
      if (outcome.kind === "lease_lost") return;
    } catch (error) {
      ports.log("heartbeat_failed", { jobId: attempt.jobId, error: String(error) });
    }
  }
}

/** Aborts the handler where a heartbeat brought a reason to. */
export function obey(outcome: HeartbeatOutcome, abort: AbortController): void {
  if (outcome.kind === "lease_lost") abort.abort(new LeaseLostError());
  else if (outcome.cancelRequested) abort.abort(cancelRequest());
}

/** The reason that a handler sees when somebody asked to cancel its job. */
export function cancelRequest(): AttemptAbortedError {
  return new AttemptAbortedError("cancelled", "the job was asked to cancel");
}
