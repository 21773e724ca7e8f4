/** Publishes what a sweep took, within its budget of calls and seconds. */

import type { Wakeup } from "../core/job.js";
import { CALLS_RESERVED, type SweepRun } from "./begin-sweep.js";
import { markFailed, publish, SEPARATE_CALLS_MAX, spread } from "./publish.js";

const MESSAGES_PER_CALL = 100;
/** A trigger that failed in so many calls of one step is not asked again in it. */
const OUTAGES_PER_STEP_MAX = 2;

/**
 * Publishes call by call; what no time or no trigger is left for goes to the next sweep.
 *
 * Shape: spread behind everything that this sweep has sent, unless it goes `atOnce`. A type whose
 *        messages are refused for good is left out from then on, so that it holds up no other.
 */
export async function publishSwept(
  run: SweepRun,
  wakeups: Wakeup[],
  { atOnce = false } = {},
): Promise<void> {
  const { refusedTypes } = run.report;
  const isRefused = ({ type }: Wakeup): boolean => refusedTypes.includes(type);
  let left = atOnce ? wakeups : spread(wakeups, run.messagesSent);
  if (!atOnce) run.messagesSent += left.length;
  const held: Wakeup[] = [];
  let outages = 0;
  while (left.length > 0 && outages < OUTAGES_PER_STEP_MAX && run.secondsLeft() > 0) {
    const { failed, calls, ...found } = await publish(
      run.ports,
      left.slice(0, MESSAGES_PER_CALL),
      separateCallsMax(run, left.length),
    );
    run.report.publishFailures += failed;
    // What failed in an outage was tried twice.
    run.callsLeft -= calls + (failed > 0 ? 1 : 0);
    if (found.isOutage) outages += 1;
    refusedTypes.push(...found.refusedTypes);
    left = left.slice(MESSAGES_PER_CALL);
    held.push(...left.filter(isRefused));
    left = left.filter((each) => !isRefused(each));
  }
  if (outages > 0) run.isOutage = true;
  const unsent = [...held, ...left];
  if (unsent.length === 0) return;
  run.report.more = true;
  if (outages > 0 || held.length > 0) run.report.publishFailures += unsent.length;
  run.callsLeft -= await markFailed(
    run.ports,
    unsent.map((wakeup) => ({ wakeup, reason: "not_tried" })),
  );
}

/** What this step and the later ones need is not spent on finding out who is refused. */
function separateCallsMax({ callsLeft }: SweepRun, messages: number): number {
  const callsNeeded = Math.ceil(messages / MESSAGES_PER_CALL) + CALLS_RESERVED;
  return Math.min(SEPARATE_CALLS_MAX, callsLeft - callsNeeded);
}
