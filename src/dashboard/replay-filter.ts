/** Which dead letters a replay is for, from a form or a link. */

import type { ReplayFilter } from "../core/operations.js";
import { fieldsOf, readCreated, readType } from "./job-filter.js";

export const REPLAY_LIMIT = { default: 500, max: 5000 } as const;
export const SPREAD_SECONDS_MAX = 86_400;

/** Reads a filter and what is wrong with it; what is empty restricts nothing. */
export function readReplayFilter(form: URLSearchParams): {
  filter: ReplayFilter;
  faults: string[];
} {
  const faults: string[] = [];
  const read = fieldsOf(form, faults);
  const whole = (name: string, min: number, max: number, fallback: number): number => {
    const isWhole = (text: string) => /^\d{1,6}$/.test(text) && +text >= min && +text <= max;
    return Number(
      read(name, `“${name}” must be a whole number from ${min} to ${max}.`, isWhole) ?? fallback,
    );
  };
  const isCode = (text: string) => text.length <= 64 && !text.includes("\0");
  const { createdAfter, createdBefore } = readCreated(read);
  const filter = {
    type: readType(read) ?? undefined,
    errorCode:
      read("code", "An error code has at most 64 characters, and no U+0000.", isCode) ?? undefined,
    createdAfter: createdAfter ?? undefined,
    createdBefore: createdBefore ?? undefined,
    limit: whole("limit", 1, REPLAY_LIMIT.max, REPLAY_LIMIT.default),
    spreadSeconds: whole("spread", 0, SPREAD_SECONDS_MAX, 0),
  };
  return { filter, faults };
}
