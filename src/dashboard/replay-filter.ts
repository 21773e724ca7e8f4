/** Which dead letters a replay is for, from a form or a link. */

import {
  ERROR_CODE_LENGTH_MAX,
  REPLAY_LIMIT,
  REPLAY_SPREAD_SECONDS_MAX,
  type ReplayFilter,
} from "../core/operations.js";
import { fieldsOf, readCreated, readType } from "./job-filter.js";

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
  const isCode = (text: string) => text.length <= ERROR_CODE_LENGTH_MAX && !text.includes("\0");
  const { createdAfter, createdBefore } = readCreated(read);
  const filter = {
    type: readType(read) ?? undefined,
    errorCode:
      read(
        "code",
        `An error code has at most ${ERROR_CODE_LENGTH_MAX} characters, and no U+0000.`,
        isCode,
      ) ?? undefined,
    createdAfter: createdAfter ?? undefined,
    createdBefore: createdBefore ?? undefined,
    limit: whole("limit", 1, REPLAY_LIMIT.max, REPLAY_LIMIT.default),
    spreadSeconds: whole("spread", 0, REPLAY_SPREAD_SECONDS_MAX, 0),
  };
  return { filter, faults };
}
