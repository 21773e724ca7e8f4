/** The safety net: recovers leases, publishes what no message will wake, and cleans up. */

import { delayTable } from "../core/backoff.js";
import { MAX_ATTEMPTS_BOUNDS, type Wakeup } from "../core/job.js";
import type { Ports, SweepType } from "../core/ports.js";
import { type CleanUpRule, cleanUp } from "./clean-up.js";
import { execute } from "./execute.js";
import { planSchedules } from "./plan-schedules.js";
import { markFailed, publish, spread } from "./publish.js";
import { rollUp } from "./roll-up.js";
import { sendAlerts } from "./send-alerts.js";

/** What one sweep did, by step; `more` when a bound stopped it. */
export interface SweepReport {
  leasesRecovered: number;
  deadLettered: number;
  cancelled: number;
  slotsPlanned: number;
  slotsMissed: number;
  published: number;
  vanished: number;
  probes: number;
  publishFailures: number;
  ranInSweep: number;
  idempotencyRecordsPurged: number;
  jobsPruned: number;
  attemptsRolledUp: number;
  alertsSent: number;
  alertsFailed: number;
  failedSteps: string[];
  more: boolean;
}

const LEASES_PER_STATEMENT = 200;
const MESSAGES_PER_STATEMENT = 500;
const MESSAGES_PER_CALL = 100;
const PROBES_PER_SWEEP = 100;
/** One statement, five batches of 100 messages, and the mark of a failure. */
const CALLS_PER_PUBLISHING = 1 + MESSAGES_PER_STATEMENT / MESSAGES_PER_CALL + 1;
/** A trigger that refused so many calls of one step is not asked again in it. */
const REFUSALS_PER_STEP_MAX = 2;
/** Claim, finish and the mark of the next message. */
const CALLS_PER_RUN = 3;
/** What is kept back for the steps after publishing. */
const CALLS_RESERVED = 8;

/** One sweep in progress: its budget and what it has done. */
interface Sweep {
  ports: Ports;
  types: SweepType[];
  /** Types that no step may publish. */
  unpublishedTypes: string[];
  report: SweepReport;
  callsLeft: number;
  /** Messages of all steps so far: together they leave no faster than those of one step. */
  messagesSent: number;
  secondsLeft(): number;
}

/**
 * Does one bounded sweep; any number of them may run beside each other.
 *
 * Errors: a failed step is reported and does not keep the others from running.
 */
export async function sweep(ports: Ports): Promise<SweepReport> {
  const startedMs = performance.now();
  const types = sweepTypes(ports);
  const run: Sweep = {
    ports,
    types,
    unpublishedTypes: types.filter((each) => !each.publish).map((each) => each.type),
    report: emptyReport(),
    callsLeft: ports.settings.sweepMaxCalls,
    messagesSent: 0,
    secondsLeft: () => ports.settings.sweepMaxSeconds - (performance.now() - startedMs) / 1000,
  };
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
  if (run.report.publishFailures > 0) await step(run, "run", CALLS_PER_RUN, () => runDueJobs(run));
  const { failedSteps, ...counts } = run.report;
  ports.log("sweep_finished", {
    ...counts,
    failedSteps: failedSteps.join(","),
    seconds: (performance.now() - startedMs) / 1000,
  });
  return run.report;
}

async function step(
  run: Sweep,
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

async function warn(run: Sweep): Promise<void> {
  const { sent, failed, calls } = await sendAlerts(run.ports);
  run.report.alertsSent += sent;
  run.report.alertsFailed += failed;
  run.callsLeft -= calls - 1;
}

async function recoverLeases(run: Sweep): Promise<void> {
  for (;;) {
    const recovered = await run.ports.store.recoverLeases(run.types, LEASES_PER_STATEMENT);
    const { failed, deadLettered, cancelled } = recovered;
    run.report.leasesRecovered += failed + deadLettered + cancelled;
    run.report.deadLettered += deadLettered;
    run.report.cancelled += cancelled;
    await publishSpread(run, recovered.wakeups);
    if (failed + deadLettered + cancelled < LEASES_PER_STATEMENT) return;
    if (!hasRoomFor(run, CALLS_PER_PUBLISHING)) return;
  }
}

async function plan(run: Sweep): Promise<void> {
  for (;;) {
    const planned = await planSchedules(run.ports, MESSAGES_PER_STATEMENT);
    run.callsLeft -= planned.calls - 1;
    run.report.slotsPlanned += planned.slots;
    run.report.slotsMissed += planned.slotsMissed;
    await publishSpread(run, planned.wakeups);
    if (!planned.more || !hasRoomFor(run, 1 + CALLS_PER_PUBLISHING)) return;
  }
}

async function publishUnpublished(run: Sweep): Promise<void> {
  const { store } = run.ports;
  for (;;) {
    const wakeups = await store.takeUnpublished(run.unpublishedTypes, MESSAGES_PER_STATEMENT);
    run.report.published += wakeups.length;
    await publishSpread(run, wakeups);
    if (wakeups.length < MESSAGES_PER_STATEMENT) return;
    // A trigger that refuses would be asked again for the same jobs.
    if (run.report.publishFailures > 0 || !hasRoomFor(run, CALLS_PER_PUBLISHING)) {
      run.report.more = true;
      return;
    }
  }
}

async function publishVanished(run: Sweep): Promise<void> {
  const { store } = run.ports;
  const wakeups = await store.takeVanished(run.unpublishedTypes, MESSAGES_PER_STATEMENT);
  run.report.vanished += wakeups.length;
  if (wakeups.length === MESSAGES_PER_STATEMENT) run.report.more = true;
  await publishSpread(run, wakeups);
}

async function probe(run: Sweep): Promise<void> {
  const wakeups = await run.ports.store.probeSilentTypes(run.unpublishedTypes, PROBES_PER_SWEEP);
  run.report.probes += wakeups.length;
  // At once: behind many others a probe would come too late for its own distance.
  await send(run, wakeups);
}

async function countEnded(run: Sweep): Promise<void> {
  run.report.attemptsRolledUp += await rollUp(run.ports, () => hasRoomFor(run, 1));
}

/** Deletes by one rule, and leaves a share of the calls that are left to the rules after it. */
async function clean(run: Sweep, rule: CleanUpRule, shareLeft: number): Promise<number> {
  const callsKept = Math.max(1, Math.floor((run.callsLeft - CALLS_RESERVED) * shareLeft));
  return cleanUp(run.ports, rule, () => hasRoomFor(run, callsKept));
}

async function purgeIdempotencyRecords(run: Sweep): Promise<void> {
  run.report.idempotencyRecordsPurged += await clean(run, "idempotency_records", 2 / 3);
}

async function prune(run: Sweep): Promise<void> {
  run.report.jobsPruned += await clean(run, "retention", 1 / 2);
}

/** While the trigger refuses messages, this sweep is the only thing that runs jobs: one at a time. */
async function runDueJobs(run: Sweep): Promise<void> {
  const { ports } = run;
  // Types take turns from a random one on, so that none waits for the end of another's backlog.
  const first = Math.floor(ports.entropy.random() * run.types.length);
  let turns = [...run.types.slice(first), ...run.types.slice(0, first)];
  while (run.callsLeft >= CALLS_PER_RUN) {
    const fitting = turns.filter(({ type, publish: published }) => {
      const timeoutSeconds = ports.registry.get(type)?.timeoutSeconds ?? Number.POSITIVE_INFINITY;
      return published && timeoutSeconds <= run.secondsLeft();
    });
    if (fitting.length === 0) {
      run.report.more = true;
      return;
    }
    const attempt = await ports.store.claimDue(fitting, ports.entropy.newId());
    run.callsLeft -= 1;
    if (!attempt) return;
    await execute(ports, attempt, ports.settings.maxRunSeconds, { leaveUnpublished: true });
    run.callsLeft -= CALLS_PER_RUN - 1;
    run.report.ranInSweep += 1;
    turns = turns.toSorted(
      (a, b) => Number(a.type === attempt.type) - Number(b.type === attempt.type),
    );
  }
  run.report.more = true;
}

async function publishSpread(run: Sweep, wakeups: Wakeup[]): Promise<void> {
  const messages = spread(wakeups, run.messagesSent);
  run.messagesSent += messages.length;
  await send(run, messages);
}

/** Publishes call by call; what no time or no trigger is left for goes to the next sweep. */
async function send(run: Sweep, messages: Wakeup[]): Promise<void> {
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

/** Counts the statement just made, and tells whether another round fits the budget. */
function hasRoomFor(run: Sweep, calls: number): boolean {
  run.callsLeft -= 1;
  const fits = run.callsLeft - CALLS_RESERVED >= calls && run.secondsLeft() > 0;
  if (!fits) run.report.more = true;
  return fits;
}

/** What statements must know of each registered type. */
export function sweepTypes(ports: Ports): SweepType[] {
  return [...ports.registry.values()].map((definition) => ({
    type: definition.type,
    publish: definition.runsOn === "qstash",
    leaseSeconds: definition.leaseSeconds,
    delays: delayTable(definition.backoff, MAX_ATTEMPTS_BOUNDS.max),
    jitterSeconds: definition.backoff.jitterSeconds,
  }));
}

function emptyReport(): SweepReport {
  return {
    leasesRecovered: 0,
    deadLettered: 0,
    cancelled: 0,
    slotsPlanned: 0,
    slotsMissed: 0,
    published: 0,
    vanished: 0,
    probes: 0,
    publishFailures: 0,
    ranInSweep: 0,
    idempotencyRecordsPurged: 0,
    jobsPruned: 0,
    attemptsRolledUp: 0,
    alertsSent: 0,
    alertsFailed: 0,
    failedSteps: [],
    more: false,
  };
}
