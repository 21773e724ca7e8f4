/** The safety net: recovers leases, publishes what no message will wake, and cleans up. */

import type { Ports } from "../core/ports.js";
import { beginSweep, CALLS_RESERVED, type SweepReport, type SweepRun } from "./begin-sweep.js";
import { type CleanUpRule, cleanUp } from "./clean-up.js";
import { planSchedules } from "./plan-schedules.js";
import { publishSwept } from "./publish-swept.js";
import { rollUp } from "./roll-up.js";
import { CALLS_PER_RUN, runInSweep } from "./run-in-sweep.js";
import { sendAlerts } from "./send-alerts.js";

const LEASES_PER_STATEMENT = 200;
const MESSAGES_PER_STATEMENT = 500;
const MESSAGES_PER_CALL = 100;
const PROBES_PER_SWEEP = 100;
/** One statement, five batches of 100 messages, and the mark of a failure. */
const CALLS_PER_PUBLISHING = 1 + MESSAGES_PER_STATEMENT / MESSAGES_PER_CALL + 1;

/**
 * Does one bounded sweep; any number of them may run beside each other.
 *
 * Errors: a failed step is reported and does not keep the others from running.
 */
export async function sweep(ports: Ports): Promise<SweepReport> {
  const run = beginSweep(ports);
  await step(run, "record", 1, () => ports.store.recordSweep());
  // First: a warning matters most when the other steps use up all calls and all time.
  await step(run, "alerts", 1, () => warn(run));
  await step(run, "leases", CALLS_PER_PUBLISHING, () => recoverLeases(run));
  // Before other publishing: these have a time to keep.
  await step(run, "schedules", 1 + CALLS_PER_PUBLISHING, () => plan(run));
  await step(run, "unpublished", CALLS_PER_PUBLISHING, () => publishUnpublished(run));
  // Vanished before probes: an answered probe allows a full batch, and a new probe would hide it.
  await step(run, "vanished", CALLS_PER_PUBLISHING, () => publishVanished(run));
  await step(run, "probes", 3, () => probe(run));
  // Before retention, which leaves what was not counted.
  await step(run, "rollups", 1, () => countEnded(run));
  await step(run, "idempotency_records", 1, () => purgeIdempotencyRecords(run));
  await step(run, "retention", 1, () => prune(run));
  await step(run, "counters", 1, () => clean(run, "counters", 0));
  if (run.report.publishFailures > 0) await step(run, "run", CALLS_PER_RUN, () => runInSweep(run));
  const { failedSteps, refusedTypes, ...counts } = run.report;
  ports.log("sweep_finished", {
    ...counts,
    refusedTypes: refusedTypes.join(","),
    failedSteps: failedSteps.join(","),
    seconds: run.secondsSpent(),
  });
  return run.report;
}

async function step(
  run: SweepRun,
  name: string,
  callsNeeded: number,
  work: () => Promise<unknown>,
): Promise<void> {
  if (run.callsLeft < callsNeeded || run.secondsLeft() <= 0) {
    run.report.more = true;
    return;
  }
  try {
    await work();
  } catch (error) {
    run.report.failedSteps.push(name);
    run.ports.log("sweep_step_failed", { step: name, error: String(error) });
  } finally {
    run.callsLeft -= 1;
  }
}

async function warn(run: SweepRun): Promise<void> {
  const { sent, failed, calls } = await sendAlerts(run.ports);
  run.report.alertsSent += sent;
  run.report.alertsFailed += failed;
  run.callsLeft -= calls - 1;
}

async function recoverLeases(run: SweepRun): Promise<void> {
  for (;;) {
    const recovered = await run.ports.store.recoverLeases(
      run.types,
      run.take(LEASES_PER_STATEMENT),
    );
    const { failed, deadLettered, cancelled } = recovered;
    run.report.leasesRecovered += failed + deadLettered + cancelled;
    run.report.deadLettered += deadLettered;
    run.report.cancelled += cancelled;
    await publishSwept(run, recovered.wakeups);
    if (failed + deadLettered + cancelled < LEASES_PER_STATEMENT) return;
    if (!run.hasRoomFor(CALLS_PER_PUBLISHING)) return;
  }
}

async function plan(run: SweepRun): Promise<void> {
  for (;;) {
    const planned = await planSchedules(run.ports, MESSAGES_PER_STATEMENT);
    run.callsLeft -= planned.calls - 1;
    run.report.slotsPlanned += planned.slots;
    run.report.slotsMissed += planned.slotsMissed;
    await publishSwept(run, planned.wakeups);
    if (!planned.more || !run.hasRoomFor(1 + CALLS_PER_PUBLISHING)) return;
  }
}

async function publishUnpublished(run: SweepRun): Promise<void> {
  const { store } = run.ports;
  for (;;) {
    const wakeups = await store.takeUnpublished(run.take(MESSAGES_PER_STATEMENT));
    run.report.published += wakeups.length;
    await publishSwept(run, wakeups);
    if (wakeups.length < MESSAGES_PER_STATEMENT) return;
    // A trigger that fails would be asked again for the same jobs.
    if (run.isOutage || !run.hasRoomFor(CALLS_PER_PUBLISHING)) {
      run.report.more = true;
      return;
    }
  }
}

async function publishVanished(run: SweepRun): Promise<void> {
  const { store } = run.ports;
  const wakeups = await store.takeVanished(run.take(MESSAGES_PER_STATEMENT));
  run.report.vanished += wakeups.length;
  if (wakeups.length === MESSAGES_PER_STATEMENT) run.report.more = true;
  await publishSwept(run, wakeups);
}

async function probe(run: SweepRun): Promise<void> {
  const wakeups = await run.ports.store.probeSilentTypes(run.take(PROBES_PER_SWEEP));
  run.report.probes += wakeups.length;
  // At once: behind many others a probe would come too late for its own distance.
  await publishSwept(run, wakeups, { atOnce: true });
}

async function countEnded(run: SweepRun): Promise<void> {
  run.report.attemptsRolledUp += await rollUp(run.ports, () => run.hasRoomFor(1));
}

/** Deletes by one rule, and leaves a share of the calls that are left to the rules after it. */
async function clean(run: SweepRun, rule: CleanUpRule, shareLeft: number): Promise<number> {
  const callsKept = Math.max(1, Math.floor((run.callsLeft - CALLS_RESERVED) * shareLeft));
  return cleanUp(run.ports, rule, () => run.hasRoomFor(callsKept));
}

async function purgeIdempotencyRecords(run: SweepRun): Promise<void> {
  run.report.idempotencyRecordsPurged += await clean(run, "idempotency_records", 2 / 3);
}

async function prune(run: SweepRun): Promise<void> {
  run.report.jobsPruned += await clean(run, "retention", 1 / 2);
}
