/** Instants in requests: RFC 3339 with a zone, on dates that exist. */

import * as z from "zod/mini";

const RFC3339 =
  /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,40}))?([Zz]|[+-]\d{2}:\d{2})$/;
const DAY_MS = 86_400_000;

/**
 * Reads an instant and writes it in UTC with milliseconds, which Postgres accepts in every case.
 *
 * Shape: undefined for impossible dates and times and for years outside 1–9999; finer fractions are
 *        rounded up, since a job never starts early; a leap second is the second after it.
 */
export function parseInstant(text: string): string | undefined {
  const match = RFC3339.exec(text);
  if (!match) return undefined;
  const [, date = "", hour, minute, second, fraction = "", zone = ""] = match;
  const dayMs = Date.parse(`${date}T00:00:00Z`);
  // Date.parse reads 30 February as 2 March.
  if (Number.isNaN(dayMs) || !new Date(dayMs).toISOString().startsWith(date)) return undefined;
  const zoneMinutes = zoneMinutesOf(zone);
  if (zoneMinutes === undefined || Number(hour) > 23 || Number(minute) > 59) return undefined;
  const minutes = Number(hour) * 60 + Number(minute) - zoneMinutes;
  const wholeMs = dayMs + (minutes * 60 + Number(second)) * 1000;
  if (Number(second) > 60) return undefined;
  // Leap seconds are only ever inserted at the end of a UTC day.
  if (Number(second) === 60 && wholeMs % DAY_MS !== 0) return undefined;
  const finer = /[1-9]/.test(fraction.slice(3)) ? 1 : 0;
  const instantMs = wholeMs + Number(fraction.slice(0, 3).padEnd(3, "0")) + finer;
  const written = new Date(instantMs).toISOString();
  return /^(?!0000)\d{4}-/.test(written) ? written : undefined;
}

function zoneMinutesOf(zone: string): number | undefined {
  if (/^z$/i.test(zone)) return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(4, 6));
  if (hours > 23 || minutes > 59) return undefined;
  return (zone.startsWith("-") ? -1 : 1) * (hours * 60 + minutes);
}

/** Accepts an instant and gives it as `parseInstant` writes it. */
export const instantSchema = z.pipe(
  z.string().check(z.meta({ format: "date-time" })),
  z.transform((text, { issues }) => {
    const instant = parseInstant(text);
    if (instant !== undefined) return instant;
    const message = "must be an RFC 3339 instant with a zone, such as 2030-01-31T09:00:00Z";
    issues.push({ code: "custom", message, input: text });
    return z.NEVER;
  }),
);
