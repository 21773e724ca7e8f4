/** The filters of the job list, from its form. */

import {
  DEDUPE_KEY_LENGTH_MAX,
  JOB_STATUSES,
  JOB_TYPE_PATTERN,
  type JobStatus,
} from "../core/job.js";
import type { JobFilter } from "../core/listing.js";

export interface FilterReading {
  filter: JobFilter;
  /** What could not be read, in the reader's words. */
  faults: string[];
}

/** Reads a filter; empty fields ask for everything. */
export function readFilter(query: URLSearchParams): FilterReading {
  const faults: string[] = [];
  const statuses = query.getAll("status").filter(Boolean);
  const types = query.getAll("type").filter(Boolean);
  const dedupeKey = query.get("key")?.trim() || null;
  const known = statuses.filter((each): each is JobStatus =>
    (JOB_STATUSES as readonly string[]).includes(each),
  );
  if (known.length < statuses.length) faults.push(`Statuses are ${JOB_STATUSES.join(", ")}.`);
  if (types.length > 1 || types.some((each) => !JOB_TYPE_PATTERN.test(each))) {
    faults.push("The type must be one name of a job type.");
  }
  if (
    dedupeKey !== null &&
    (dedupeKey.length > DEDUPE_KEY_LENGTH_MAX || dedupeKey.includes("\0"))
  ) {
    faults.push(`A dedupe key has at most ${DEDUPE_KEY_LENGTH_MAX} characters.`);
  }
  const [createdAfter, createdBefore] = ["after", "before"].map((name) => {
    const given = query.get(name) || null;
    const instant = given === null ? null : instantOf(given);
    if (instant === undefined) faults.push(`“${name}” must be a date and a time.`);
    return instant ?? null;
  });
  const filter: JobFilter = {
    statuses: [...new Set(known)].sort(),
    types: faults.length > 0 ? [] : types,
    dedupeKey: faults.length > 0 ? null : dedupeKey,
    createdAfter: createdAfter ?? null,
    createdBefore: createdBefore ?? null,
  };
  return { filter, faults };
}

/** Reads a field of date and time as UTC; undefined for what is none. */
export function instantOf(field: string): string | undefined {
  const [, date] = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(?::\d{2})?$/.exec(field) ?? [];
  const atMs = Date.parse(`${field}Z`);
  if (date === undefined || Number.isNaN(atMs)) return undefined;
  const instant = new Date(atMs).toISOString();
  // Date.parse reads 30 February as 2 March.
  return instant.startsWith(date) && !date.startsWith("0000") ? instant : undefined;
}
