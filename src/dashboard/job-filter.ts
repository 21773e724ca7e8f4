/** The filters of the job list, from its form. */

import {
  DEDUPE_KEY_LENGTH_MAX,
  JOB_STATUSES,
  JOB_TYPE_PATTERN,
  type JobStatus,
} from "../core/job.js";
import type { JobFilter } from "../core/listing.js";

/** Reads one field; empty is null. What does not fit is added to the faults. */
export type ReadField = (
  name: string,
  fault: string,
  fits: (text: string) => boolean,
) => string | null;

/** Reads the fields of one form. */
export function fieldsOf(form: URLSearchParams, faults: string[]): ReadField {
  return (name, fault, fits) => {
    const text = form.get(name)?.trim() || null;
    if (text === null || fits(text)) return text;
    faults.push(fault);
    return null;
  };
}

/** Reads a type's name. */
export function readType(read: ReadField): string | null {
  return read("type", "The type must be the name of a job type.", (text) =>
    JOB_TYPE_PATTERN.test(text),
  );
}

/** Reads from when until when, in UTC. */
export function readCreated(read: ReadField): Pick<JobFilter, "createdAfter" | "createdBefore"> {
  const instant = (name: string): string | null => {
    const text = read(
      name,
      `“${name}” must be a date and a time.`,
      (given) => instantOf(given) !== undefined,
    );
    return text === null ? null : (instantOf(text) ?? null);
  };
  return { createdAfter: instant("after"), createdBefore: instant("before") };
}

/** Reads a filter and what is wrong with it; empty fields ask for everything. */
export function readFilter(query: URLSearchParams): { filter: JobFilter; faults: string[] } {
  const faults: string[] = [];
  const read = fieldsOf(query, faults);
  const statuses = [...new Set(query.getAll("status"))].sort();
  const known = JOB_STATUSES.filter((each) => statuses.includes(each)).sort() as JobStatus[];
  if (known.length < statuses.length) faults.push(`Statuses are ${JOB_STATUSES.join(", ")}.`);
  const type = readType(read);
  const isKey = (text: string): boolean =>
    [...text].length <= DEDUPE_KEY_LENGTH_MAX && !text.includes("\0");
  const dedupeKey = read(
    "key",
    `A dedupe key has at most ${DEDUPE_KEY_LENGTH_MAX} characters.`,
    isKey,
  );
  const types = type === null ? [] : [type];
  return { filter: { statuses: known, types, dedupeKey, ...readCreated(read) }, faults };
}

/** Reads a field of date and time as UTC; undefined for what is none. */
export function instantOf(field: string): string | undefined {
  const [, date = ""] = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(?::\d{2})?$/.exec(field) ?? [];
  const atMs = Date.parse(`${field}Z`);
  if (!date || Number.isNaN(atMs)) return undefined;
  const instant = new Date(atMs).toISOString();
  // Date.parse reads 30 February as 2 March.
  return instant.startsWith(date) && !date.startsWith("0000") ? instant : undefined;
}
