/** Asks QStash: whether the token is of this region, whose signing keys these are, who sweeps. */

import type { Config } from "../../config.js";
import { createQstash, type Qstash, QstashError, sweepUrl } from "../qstash.js";
import type { Session } from "../session.js";
import { secondsOfCron } from "../sweep-interval.js";
import type { Finding } from "./finding.js";

/** Checks the token first: without one that fits, nothing else is answered. */
export async function checkQstash(session: Session, config: Config): Promise<Finding[]> {
  const qstash = createQstash(config, session.io);
  try {
    const keys = checkKeys(config, await qstash.keys());
    const { host } = new URL(config.qstashUrl);
    const token: Finding = { check: "qstash token", state: "ok", detail: `accepted by ${host}` };
    return [token, keys, await checkSchedule(config, qstash)];
  } catch (error) {
    return [refusal(config, error)];
  }
}

function refusal(config: Config, error: unknown): Finding {
  const check = "qstash token";
  if (!(error instanceof QstashError)) {
    const detail = error instanceof Error ? error.message : String(error);
    return { check, state: "fault", detail, advice: "Check QSTASH_URL." };
  }
  const { host } = new URL(config.qstashUrl);
  const isUnknown = error.status === 401 || error.status === 403;
  return {
    check,
    state: "fault",
    detail: `${host} answered ${error.status}: ${error.message}`,
    ...(isUnknown && {
      advice: "Tokens are regional: take QSTASH_URL and QSTASH_TOKEN from the same console page.",
    }),
  };
}

/** After a rotation at QStash its current key is our next one, which still verifies. */
function checkKeys(config: Config, { current, next }: { current: string; next: string }): Finding {
  const check = "signing keys";
  const { qstashCurrentSigningKey, qstashNextSigningKey } = config;
  if (current === qstashCurrentSigningKey && next === qstashNextSigningKey) {
    return { check, state: "ok", detail: "are those of the token's account" };
  }
  const advice = "Copy both keys from QStash's console and deploy.";
  if ([qstashCurrentSigningKey, qstashNextSigningKey].includes(current)) {
    const detail = "were rotated: deliveries verify by one of the two, and not after the next time";
    return { check, state: "warning", detail, advice };
  }
  const detail = "are not those of the token's account: every delivery is refused";
  return { check, state: "fault", detail, advice };
}

async function checkSchedule(config: Config, qstash: Qstash): Promise<Finding> {
  const check = "sweep trigger";
  const schedule = await qstash.sweepSchedule();
  if (!schedule) {
    const advice = "Run antrean setup, unless a cron of your platform calls the sweep.";
    return { check, state: "warning", detail: "QStash has no schedule for it", advice };
  }
  const { cron, destination, isPaused } = schedule;
  const advice = "Run antrean setup.";
  if (destination !== sweepUrl(config)) {
    return { check, state: "fault", detail: `the schedule leads to ${destination}`, advice };
  }
  if (isPaused) {
    const console = "Resume it in QStash's console.";
    return { check, state: "fault", detail: "the schedule is paused", advice: console };
  }
  const seconds = secondsOfCron(cron);
  if (seconds !== config.sweepIntervalSeconds) {
    const detail = `the schedule is ${cron}, SWEEP_INTERVAL_SECONDS is ${config.sweepIntervalSeconds}`;
    return { check, state: "warning", detail, advice: "Make them the same." };
  }
  return { check, state: "ok", detail: `QStash calls it by ${cron}` };
}
