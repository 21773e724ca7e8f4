/** What options may be; a wrong one is said before anything is sent. */

import { InvalidArgumentError } from "commander";

/** A whole number within bounds. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`must be a whole number from ${min} to ${max}`);
  };
}

/** Seconds, fractions included. */
export function seconds(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= 0 && Number.isFinite(value)) return value;
  throw new InvalidArgumentError("must be a number of seconds");
}

/** Several values, by commas or by repeating the option. */
export function listed(text: string, before: string[] = []): string[] {
  const values = text.split(",").map((each) => each.trim());
  // An unset variable of a script must not widen what it asks for to everything.
  if (!values.some(Boolean)) throw new InvalidArgumentError("must name at least one");
  return [...before, ...values.filter(Boolean)];
}
