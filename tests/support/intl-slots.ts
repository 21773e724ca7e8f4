/** Cron slots a second time, minute by minute, by nothing but the platform's `Intl`. */

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** A change of a zone's offset; milliseconds. */
interface Transition {
  atMs: number;
  beforeMs: number;
  afterMs: number;
}

/** The offsets of one zone over a span of time. */
export interface ZoneOffsets {
  transitions: Transition[];
  at(instantMs: number): number;
}

/** Finds the transitions of a zone: a look each day, and a bisection where two days differ. */
export function zoneOffsets(timeZone: string, fromMs: number, toMs: number): ZoneOffsets {
  const offsetOf = offsetReader(timeZone);
  const transitions: Transition[] = [];
  for (let dayMs = fromMs; dayMs < toMs; dayMs += DAY_MS) {
    const [beforeMs, afterMs] = [offsetOf(dayMs), offsetOf(dayMs + DAY_MS)];
    if (beforeMs === afterMs) continue;
    let [lowMs, highMs] = [dayMs, dayMs + DAY_MS];
    while (highMs - lowMs > MINUTE_MS) {
      const middleMs = lowMs + Math.round((highMs - lowMs) / 2 / MINUTE_MS) * MINUTE_MS;
      if (offsetOf(middleMs) === beforeMs) lowMs = middleMs;
      else highMs = middleMs;
    }
    transitions.push({ atMs: highMs, beforeMs, afterMs });
  }
  const firstMs = offsetOf(fromMs);
  return {
    transitions,
    at: (instantMs) => transitions.findLast(({ atMs }) => atMs <= instantMs)?.afterMs ?? firstMs,
  };
}

function offsetReader(timeZone: string): (instantMs: number) => number {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    ...({ year: "numeric", month: "numeric", day: "numeric" } as const),
    ...({ hour: "numeric", minute: "numeric" } as const),
  });
  return (instantMs) => {
    const parts = Object.fromEntries(
      format.formatToParts(instantMs).map(({ type, value }) => [type, Number(value)]),
    );
    const { year = 0, month = 1, day, hour, minute } = parts;
    return Date.UTC(year, month - 1, day, hour, minute) - instantMs;
  };
}

/** Lists the slots of an expression in a span of whole minutes. */
export function intlSlots(cron: string, zone: ZoneOffsets, fromMs: number, toMs: number): number[] {
  const matches = matcher(cron);
  const [minute = "", hour = ""] = cron.split(" ");
  const isFixed = !/[*/]/.test(minute + hour);
  const slots: number[] = [];
  for (let instantMs = fromMs; instantMs < toMs; instantMs += MINUTE_MS) {
    const found = matches(instantMs + zone.at(instantMs));
    if (isFixed && fillsGap(matches, zone, instantMs)) slots.push(instantMs);
    else if (found && !(isFixed && isRepeated(zone, instantMs))) slots.push(instantMs);
  }
  return slots;
}

type Matcher = (localMs: number) => boolean;

/** True at the end of a gap that swallowed a matching minute. */
function fillsGap(matches: Matcher, { transitions }: ZoneOffsets, instantMs: number): boolean {
  const gap = transitions.find(({ atMs }) => atMs === instantMs);
  if (!gap) return false;
  for (let localMs = gap.atMs + gap.beforeMs; localMs < gap.atMs + gap.afterMs; ) {
    if (matches(localMs)) return true;
    localMs += MINUTE_MS;
  }
  return false;
}

/** True in an hour that the clock goes through for the second time. */
function isRepeated({ transitions }: ZoneOffsets, instantMs: number): boolean {
  return transitions.some(
    ({ atMs, beforeMs, afterMs }) =>
      instantMs >= atMs && instantMs < atMs + Math.max(0, beforeMs - afterMs),
  );
}

function matcher(cron: string): Matcher {
  const fields = cron.split(" ");
  const [minutes, hours, days, months, weekdays] = fields.map(valuesOf);
  const [, , dayField, , weekdayField] = fields;
  return (localMs) => {
    const local = new Date(localMs);
    const isDay = Boolean(days?.has(local.getUTCDate()));
    const isWeekday = Boolean(weekdays?.has(local.getUTCDay()));
    // Where both days are given, either will do.
    const both = dayField !== "*" && weekdayField !== "*";
    return (
      Boolean(minutes?.has(local.getUTCMinutes())) &&
      Boolean(hours?.has(local.getUTCHours())) &&
      Boolean(months?.has(local.getUTCMonth() + 1)) &&
      (both ? isDay || isWeekday : isDay && isWeekday)
    );
  };
}

/** The values of a field: numbers, ranges, lists and steps. */
function valuesOf(field: string, at: number): Set<number> {
  const [first, last] = [
    [0, 59],
    [0, 23],
    [1, 31],
    [1, 12],
    [0, 6],
  ][at] as [number, number];
  const values = field.split(",").flatMap((part) => {
    const [range = "", step = "1"] = part.split("/");
    const [low = first, high = low] = range === "*" ? [first, last] : range.split("-").map(Number);
    const all: number[] = [];
    for (let value = low; value <= high; value += Number(step)) all.push(value);
    return all;
  });
  return new Set(values);
}
