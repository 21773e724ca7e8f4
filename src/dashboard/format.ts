/** Numbers, durations and instants as people read them. */

import type { CappedCount } from "../core/listing.js";

/** 12345 → 12,345. */
export function formatNumber(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A count, with a plus where it stopped counting. */
export function formatCount({ count, capped }: CappedCount): string {
  return `${formatNumber(count)}${capped ? "+" : ""}`;
}

const UNITS: readonly [seconds: number, name: string][] = [
  [86_400, "d"],
  [3600, "h"],
  [60, "min"],
];

/** Two units at most: 0.42 s, 12 s, 3 min 5 s, 2 h 10 min, 4 d 3 h. */
export function formatDuration(seconds: number): string {
  if (seconds < 0.0995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 9.95) return `${Number(seconds.toPrecision(2))} s`;
  const whole = Math.round(seconds);
  const at = UNITS.findIndex(([unitSeconds]) => whole >= unitSeconds);
  const [unitSeconds, name] = UNITS[at] ?? [1, "s"];
  const [lowerSeconds, lowerName] = at < 0 ? [1, ""] : (UNITS[at + 1] ?? [1, "s"]);
  const rest = Math.floor((whole % unitSeconds) / lowerSeconds);
  const first = `${Math.floor(whole / unitSeconds)} ${name}`;
  return rest > 0 && lowerName ? `${first} ${rest} ${lowerName}` : first;
}

/** How far an instant is from now. */
export function formatAgo(at: string, nowMs: number): string {
  const seconds = (nowMs - Date.parse(at)) / 1000;
  // A moment either way is the clocks' difference, not a time.
  if (Math.abs(seconds) < 1) return "now";
  const duration = formatDuration(Math.max(1, Math.floor(Math.abs(seconds)))).replace(
    /(\D) .*/,
    "$1",
  );
  return seconds > 0 ? `${duration} ago` : `in ${duration}`;
}

/** 2030-01-31 09:00:00, in UTC. */
export function formatInstant(at: string): string {
  return at.replace("T", " ").slice(0, 19);
}

/** The end of an id, which tells jobs apart that were made at one time. */
export function shortId(id: string): string {
  return `…${id.slice(-8)}`;
}

/** Tells whether a text could be a job's id. */
export function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}
