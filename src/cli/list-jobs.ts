/** Which jobs are listed, and the list of them. */

import type { Command } from "commander";
import type { JobFilter, JobStatus, JobSummary } from "../client/client.js";
import { UsageError } from "./io.js";
import { jobsTable } from "./job-text.js";
import { listed, seconds, wholeNumber } from "./parse-option.js";
import type { Session } from "./session.js";
import { type WatchOption, watching } from "./watch.js";

const STATUSES: JobStatus[] = [
  "queued",
  "processing",
  "completed",
  "failed",
  "dead_letter",
  "cancelled",
];
const LIMIT = { default: 50, max: 10_000 } as const;
const PAGE_MAX = 200;

export interface ListOptions {
  status?: string[];
  type?: string[];
  dedupeKey?: string;
  createdAfter?: string;
  createdBefore?: string;
  limit: number;
  watch?: WatchOption;
}

export function addStatusOption(command: Command): Command {
  return command.option("--status <status>", `one or more of ${STATUSES.join(", ")}`, listed);
}

/** The filters of lists, without the state. */
export function addListOptions(command: Command): Command {
  return command
    .option("--type <type>", "of one or more types", listed)
    .option("--dedupe-key <key>", "with this dedupe key")
    .option("--created-after <instant>", "RFC 3339, such as 2026-07-01T00:00:00Z")
    .option("--created-before <instant>", "RFC 3339")
    .option("--limit <count>", "at most so many", wholeNumber(1, LIMIT.max), LIMIT.default)
    .option("--watch [seconds]", "again and again, every 2 seconds or as said", seconds);
}

export async function listJobs(session: Session, options: ListOptions): Promise<void> {
  const filter = filterOf(options);
  const { client, signal } = session.api();
  await watching(session, options.watch, async () => {
    const jobs: JobSummary[] = [];
    let hasMore = false;
    const pageSize = Math.min(PAGE_MAX, options.limit + 1);
    for await (const job of client.list({ ...filter, pageSize }, { signal })) {
      hasMore = jobs.length === options.limit;
      if (hasMore) break;
      jobs.push(job);
    }
    session.show(jobs, (shown) => jobsTable(session.paint, shown));
    if (hasMore) session.say(`There are more than ${options.limit}: raise --limit.`);
  });
}

export function filterOf(options: Omit<ListOptions, "limit">): JobFilter {
  const { status, type, dedupeKey, createdAfter, createdBefore } = options;
  const unknown = status?.find((each) => !(STATUSES as string[]).includes(each));
  if (unknown) throw new UsageError(`--status ${unknown} is none of ${STATUSES.join(", ")}.`);
  return { status: status as JobStatus[], type, dedupeKey, createdAfter, createdBefore };
}
