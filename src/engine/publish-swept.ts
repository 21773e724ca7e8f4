/** Publishes what a sweep took, within its budget of calls and seconds. */

import type { Wakeup } from "../core/job.js";
import type { SweepRun } from "./begin-sweep.js";
import { markFailed, publish, spread } from "./publish.js";

const MESSAGES_PER_CALL = 100;
/** A trigger that refused so many calls of one step is not asked again in it. */
const REFUSALS_PER_STEP_MAX = 2;

/**
 * Publishes call by call; what no time or no trigger is left for goes to the next sweep.
 *
 * Shape: spread behind everything that this sweep has sent, unless it goes `atOnce`.
 */
export async function publishSwept(
  run: SweepRun,
  wakeups: Wakeup[],
  { atOnce = false } = {},
): Promise<void> {
  const messages = atOnce ? wakeups : spread(wakeups, run.messagesSent);
  if (!atOnce) run.messagesSent += messages.length;
  let refusals = 0;
  let sent = 0;
  while (sent < messages.length && refusals < REFUSALS_PER_STEP_MAX && run.secondsLeft() > 0) {
    const { failed, calls } = await publish(
      run.ports,
      messages.slice(sent, sent + MESSAGES_PER_CALL),
    );
    sent += MESSAGES_PER_CALL;
    run.report.publishFailures += failed;
    // A refused call was tried twice.
    run.callsLeft -= calls + (failed > 0 ? 1 : 0);
    if (failed > 0) refusals += 1;
  }
  const unsent = messages.slice(sent);
  if (unsent.length === 0) return;
  run.report.more = true;
  if (refusals > 0) run.report.publishFailures += unsent.length;
  run.callsLeft -= await markFailed(run.ports, unsent);
}
