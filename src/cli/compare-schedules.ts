/** The QStash schedules that lead to this deployment, against the one that there should be. */

import type { Config } from "../config.js";
import { SWEEP_SCHEDULE_PREFIX, type SweepSchedule, sweepScheduleId, sweepUrl } from "./qstash.js";
import { secondsOfCron, sweepInterval } from "./sweep-interval.js";

export interface ScheduleDifference {
  kind:
    | "schedule_missing"
    | "schedule_paused"
    | "schedule_misdirected"
    | "schedule_interval"
    /** A second one that calls the sweep, or one that still calls a former address. */
    | "schedule_duplicate"
    /** It calls the processor, which only messages do. */
    | "schedule_stray";
  detail: string;
  isRepairable: boolean;
  scheduleId: string;
}

/**
 * Judges every schedule of the account; those that lead elsewhere belong to others.
 *
 * Shape: a missing one is a difference only while sweeps are silent, since a platform's cron may call
 *        them; a second one goes by `repair` only if its id is one that `setup` gives.
 */
export function compareSchedules(
  config: Config,
  schedules: SweepSchedule[],
  isSilent: boolean,
): ScheduleDifference[] {
  const id = sweepScheduleId(config.appName);
  const own = schedules.find(({ scheduleId }) => scheduleId === id);
  const others = schedules.filter(({ scheduleId }) => scheduleId !== id);
  const stray = others.flatMap((each) => strayOf(config, each) ?? []);
  if (own) return [...ownDifferences(config, own), ...stray];
  if (!isSilent) return stray;
  const detail = "no schedule calls the sweep, and nothing else does";
  const isRepairable = sweepCron(config) !== undefined;
  return [{ kind: "schedule_missing", detail, isRepairable, scheduleId: id }, ...stray];
}

function ownDifferences(config: Config, own: SweepSchedule): ScheduleDifference[] {
  const { scheduleId, cron, destination, isPaused } = own;
  const found: ScheduleDifference[] = [];
  const add = (kind: ScheduleDifference["kind"], detail: string, isRepairable = true): void => {
    found.push({ kind, detail, isRepairable, scheduleId });
  };
  if (!urlsOf(config).some((url) => destination.startsWith(`${url}/`))) {
    // Another deployment may have the same APP_NAME, and then this one is its schedule.
    add("schedule_misdirected", `it leads to ${destination}, which is somebody else`, false);
    return found;
  }
  if (destination !== sweepUrl(config)) add("schedule_misdirected", `it leads to ${destination}`);
  if (isPaused) add("schedule_paused", "it is paused, and sweeps nothing");
  if (secondsOfCron(cron) !== config.sweepIntervalSeconds) {
    const detail = `it is ${cron}, SWEEP_INTERVAL_SECONDS is ${config.sweepIntervalSeconds}`;
    add("schedule_interval", detail, sweepCron(config) !== undefined);
  }
  return found;
}

function urlsOf({ publicUrl, publicUrlPrevious }: Config): string[] {
  return publicUrlPrevious ? [publicUrl, publicUrlPrevious] : [publicUrl];
}

function strayOf(config: Config, schedule: SweepSchedule): ScheduleDifference | undefined {
  const { scheduleId, destination } = schedule;
  const urls = urlsOf(config);
  if (urls.some((url) => destination === `${url}/api/sweep`)) {
    const isMadeBySetup = scheduleId.startsWith(SWEEP_SCHEDULE_PREFIX);
    const maker = isMadeBySetup ? "setup made it for another APP_NAME" : "setup did not make it";
    const detail = `it also calls ${destination}; ${maker}`;
    return { kind: "schedule_duplicate", detail, isRepairable: isMadeBySetup, scheduleId };
  }
  if (urls.some((url) => destination === `${url}/api/process`)) {
    const detail = `it calls ${destination}, which only messages do`;
    return { kind: "schedule_stray", detail, isRepairable: false, scheduleId };
  }
  return undefined;
}

/** The expression for the deployment's interval; undefined where cron cannot keep it. */
export function sweepCron({ sweepIntervalSeconds: seconds }: Config): string | undefined {
  const text = seconds % 3600 === 0 ? `${seconds / 3600}h` : `${seconds / 60}m`;
  return sweepInterval(text)?.cron;
}
