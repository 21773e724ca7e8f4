/** The whole comparison of a deployment with its QStash account: messages, then schedules. */

import type { Comparison, Difference as MessageDifference, Reconciler } from "../compose.js";
import type { Config } from "../config.js";
import { compareSchedules, type ScheduleDifference, sweepCron } from "./compare-schedules.js";
import { FailedError } from "./io.js";
import { createQstash, type Qstash, sweepUrl } from "./qstash.js";
import type { Session } from "./session.js";

export type Difference = MessageDifference | ScheduleDifference;

export interface Reconciliation {
  differences: Difference[];
  examined: Comparison["examined"] & { schedules: number };
  unjudged: string[];
}

/** What is compared, and how it is made good. */
export interface Sides {
  compare(): Promise<Reconciliation>;
  /** Gives the differences that it made good; each step may be repeated. */
  repair(): Promise<Difference[]>;
}

/** Opens both sides; a repair needs a comparison before it. */
export async function openSides(session: Session, config: Config): Promise<Sides> {
  const writeLog = (line: string): void =>
    void (session.json || session.io.stderr.write(`${line}\n`));
  const reconciler = await session.reconciler(writeLog);
  const qstash = createQstash(config, session.io);
  let messages: Comparison;
  let schedules: ScheduleDifference[] = [];
  return {
    async compare() {
      messages = await explained(reconciler.compare());
      const there = await explained(qstash.schedules());
      schedules = compareSchedules(config, there, messages.sweepsAreSilent);
      return {
        differences: [...messages.differences, ...schedules],
        examined: { ...messages.examined, schedules: there.length },
        unjudged: messages.unjudged,
      };
    },
    async repair() {
      const repaired = await explained(repairSchedules(config, qstash, schedules));
      return [...repaired, ...(await explained(repairMessages(session, reconciler, messages)))];
    },
  };
}

/** QStash's client and our own calls both tell a refusal by its status; the client says no more than fetch. */
async function explained<Answer>(work: Promise<Answer>): Promise<Answer> {
  try {
    return await work;
  } catch (error) {
    const { status, message, name } = error as Error & { status?: unknown };
    if (typeof status === "number") {
      throw new FailedError(`QStash refused with ${status}: ${message}`);
    }
    if (message !== "fetch failed" && name !== "NoAnswerError") throw error;
    throw new FailedError(`QSTASH_URL does not answer: ${message}`);
  }
}

async function repairMessages(
  session: Session,
  reconciler: Reconciler,
  messages: Comparison,
): Promise<Difference[]> {
  const repaired = await reconciler.repair(messages);
  const unpublished = messages.differences.filter(({ kind }) => kind === "not_published");
  if (unpublished.length === 0) return repaired;
  const application = await session.application(() => undefined);
  const { failedSteps, publishFailures } = await application.sweep();
  const isDone = failedSteps.length === 0 && publishFailures === 0;
  return isDone ? [...repaired, ...unpublished] : repaired;
}

/** The one that there should be comes first: a second one must not go before it. */
async function repairSchedules(
  config: Config,
  qstash: Qstash,
  differences: ScheduleDifference[],
): Promise<ScheduleDifference[]> {
  const repairable = differences.filter(({ isRepairable }) => isRepairable);
  const duplicates = repairable.filter(({ kind }) => kind === "schedule_duplicate");
  const own = repairable.filter(({ kind }) => kind !== "schedule_duplicate");
  if (own.length > 0) {
    const cron = sweepCron(config) ?? (await qstash.sweepSchedule())?.cron;
    if (cron) await qstash.putSweepSchedule(cron);
    // QStash does not say whether to replace a paused schedule makes it go on.
    if (own.some(({ kind }) => kind === "schedule_paused")) await qstash.resumeSweepSchedule();
  }
  if (duplicates.length === 0) return own;
  const { destination, isPaused } = (await qstash.sweepSchedule()) ?? {};
  if (destination !== sweepUrl(config) || isPaused) return own;
  for (const { scheduleId } of duplicates) await qstash.deleteSchedule(scheduleId);
  return [...own, ...duplicates];
}
