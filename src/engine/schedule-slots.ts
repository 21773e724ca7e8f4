/** The arithmetic of cron expressions: pure, and right about the hours that clocks skip or repeat. */

import { Cron, CronPattern } from "croner";

/** The slots of one expression in one time zone; instants are milliseconds since 1970. */
export interface Slots {
  /** All slots from an instant on, itself included; each costs a search, so take few. */
  from(instantMs: number): Iterable<number>;
  /** The last slot before an instant. */
  before(instantMs: number): number | undefined;
}

/** Why there are no slots, and which part of the schedule is to blame. */
export interface SlotsFault {
  part: "cron" | "timeZone";
  reason: string;
}

const CRON_LENGTH_MAX = 200;
/** Digits, names, lists, ranges and steps; also `L` (last) and `#` (n-th weekday of the month). */
const FIVE_FIELDS = /^[\w*,/#-]+(?: +[\w*,/#-]+){4}$/;
const NEAREST_WEEKDAY = /\dW|LW/i;
/** 29 February exists, whatever this year is. */
const LONGEST_MONTHS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/**
 * Reads a cron expression, or says what is wrong with it.
 *
 * Shape: times of day without `*` or step are fixed: one that the clock skips in spring comes once,
 *        at the end of the gap, and one that it repeats in autumn comes once, the first time. Others
 *        are intervals: they skip the gap and go on through the repeated hour.
 */
export function scheduleSlots(cron: string, timeZone: string): Slots | SlotsFault {
  const reason = cronFault(cron);
  if (reason !== undefined) return { part: "cron", reason };
  if (!isTimeZone(timeZone)) {
    return { part: "timeZone", reason: "must be an IANA time zone, such as Europe/Berlin" };
  }
  const expression = new Cron(cron, {
    mode: "5-part",
    timezone: timeZone,
    fixedTimeRule: "no-wildcard",
  });
  return {
    *from(instantMs) {
      let slot = expression.nextRun(new Date(instantMs - 1));
      for (; slot; slot = expression.nextRun(slot)) yield slot.getTime();
    },
    before: (instantMs) => expression.previousRuns(1, new Date(instantMs))[0]?.getTime(),
  };
}

function cronFault(cron: string): string | undefined {
  if (cron.length > CRON_LENGTH_MAX) return `must have at most ${CRON_LENGTH_MAX} characters`;
  if (!FIVE_FIELDS.test(cron)) {
    return "must have five fields: minute, hour, day of month, month, day of week";
  }
  // Rarely meant, and with an impossible day a search through all the years to come.
  if (NEAREST_WEEKDAY.test(cron)) return "must not ask for the weekday nearest to a day (W)";
  try {
    return hasDay(new CronPattern(cron, undefined, { mode: "5-part" }))
      ? undefined
      : "never comes: none of its months has such a day";
  } catch (error) {
    return String(error instanceof Error ? error.message : error).replace(/^CronPattern: /, "");
  }
}

/** Decides by the length of months, since a search for a day that never comes takes for ever. */
function hasDay(pattern: CronPattern): boolean {
  // A day of the week is an alternative to the day of the month, and every month has all seven.
  if (!pattern.starDOW || pattern.starDOM || pattern.lastDayOfMonth) return true;
  return pattern.month.some((chosen, month) => {
    const days = pattern.day.slice(0, LONGEST_MONTHS[month]);
    return chosen === 1 && days.includes(1);
  });
}

/** Names only: offsets such as +02:00 know no summer time, and older runtimes refuse them. */
function isTimeZone(timeZone: string): boolean {
  if (!/^[A-Za-z][\w+/-]{0,63}$/.test(timeZone)) return false;
  try {
    return Boolean(new Intl.DateTimeFormat("en", { timeZone }));
  } catch {
    return false;
  }
}
