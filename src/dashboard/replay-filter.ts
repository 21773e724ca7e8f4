/** Which dead letters a replay is for, from a form or a link. */

import { JOB_TYPE_PATTERN } from "../core/job.js";
import type { ReplayFilter } from "../core/operations.js";
import { instantOf } from "./job-filter.js";

export const REPLAY_LIMIT = { default: 500, max: 5000 } as const;
const SPREAD_SECONDS_MAX = 86_400;
const CODE_LENGTH_MAX = 64;

export interface ReplayReading {
  filter: ReplayFilter;
  faults: string[];
}

/** Reads a filter; what is empty restricts nothing, what cannot be read is a fault. */
export function readReplayFilter(fields: URLSearchParams): ReplayReading {
  const faults: string[] = [];
  const field = (name: string): string | undefined => fields.get(name)?.trim() || undefined;
  const type = field("type");
  const errorCode = field("code");
  if (type !== undefined && !JOB_TYPE_PATTERN.test(type))
    faults.push("That is no name of a job type.");
  if (errorCode !== undefined && errorCode.length > CODE_LENGTH_MAX) {
    faults.push(`An error code has at most ${CODE_LENGTH_MAX} characters.`);
  }
  const instant = (name: string): string | undefined => {
    const given = field(name);
    const read = given === undefined ? undefined : instantOf(given);
    if (given !== undefined && read === undefined)
      faults.push(`“${name}” must be a date and a time.`);
    return read;
  };
  const whole = (name: string, min: number, max: number, fallback: number): number => {
    const given = field(name) ?? String(fallback);
    const value = /^\d{1,9}$/.test(given) ? Number(given) : -1;
    if (value < min || value > max)
      faults.push(`“${name}” must be a whole number from ${min} to ${max}.`);
    return value;
  };
  const filter: ReplayFilter = {
    type,
    errorCode,
    createdAfter: instant("after"),
    createdBefore: instant("before"),
    limit: whole("limit", 1, REPLAY_LIMIT.max, REPLAY_LIMIT.default),
    spreadSeconds: whole("spread", 0, SPREAD_SECONDS_MAX, 0),
  };
  return { filter, faults };
}
