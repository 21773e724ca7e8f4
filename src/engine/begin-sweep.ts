/** A sweep in progress: its types, its budget, and what it has done. */

import type { Ports } from "../core/ports.js";
import type { SweepType, Take } from "../core/sweep.js";
import { sweepTypes } from "./sweep-types.js";

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
  /** Types whose messages QStash refuses for good. */
  refusedTypes: string[];
  ranInSweep: number;
  idempotencyRecordsPurged: number;
  jobsPruned: number;
  attemptsRolledUp: number;
  alertsSent: number;
  alertsFailed: number;
  failedSteps: string[];
  more: boolean;
}

/** What the steps of one sweep share. */
export interface SweepRun {
  ports: Ports;
  types: SweepType[];
  report: SweepReport;
  callsLeft: number;
  /** Messages of all steps so far: together they leave no faster than those of one step. */
  messagesSent: number;
  /** A publish failed that may have been any other message's, too. */
  isOutage: boolean;
  secondsSpent(): number;
  secondsLeft(): number;
  /** A batch of messages to take, of the types that may be and can be published. */
  take(limit: number): Take;
  /** Counts the statement just made, and tells whether another round fits the budget. */
  hasRoomFor(calls: number): boolean;
}

/** What is kept back for the steps after publishing. */
export const CALLS_RESERVED = 8;

/** Begins a sweep; its time runs from here on. */
export function beginSweep(ports: Ports): SweepRun {
  const startedMs = performance.now();
  const types = sweepTypes(ports);
  const unpublishedTypes = types.filter((each) => !each.publish).map((each) => each.type);
  const run: SweepRun = {
    ports,
    types,
    report: emptyReport(),
    callsLeft: ports.settings.sweepMaxCalls,
    messagesSent: 0,
    isOutage: false,
    secondsSpent: () => (performance.now() - startedMs) / 1000,
    secondsLeft: () => ports.settings.sweepMaxSeconds - run.secondsSpent(),
    take: (limit) => ({
      takeId: ports.entropy.newId(),
      unpublishedTypes: [...unpublishedTypes, ...run.report.refusedTypes],
      limit,
    }),
    hasRoomFor(calls) {
      run.callsLeft -= 1;
      const fits = run.callsLeft - CALLS_RESERVED >= calls && run.secondsLeft() > 0;
      if (!fits) run.report.more = true;
      return fits;
    },
  };
  return run;
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
    refusedTypes: [],
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
