/** `antrean jobs tail`: what happens, as it happens. */

import type { Command } from "commander";
import type { Job, JobSummary } from "../../client/client.js";
import { FailedError } from "../io.js";
import { jobsTable, jsonText } from "../job-text.js";
import { filterOf, type ListOptions } from "../list-jobs.js";
import { cut, instant, type Paint, paintStatus, plain } from "../paint.js";
import { listed } from "../parse-option.js";
import type { Action, Session } from "../session.js";

/** How long the server waits for the end of a job; its timeline is read as often. */
const WAIT_SECONDS = 2;
const POLL_MS = 2000;
/** How far back a change is seen: the newest jobs, as many as one page holds. */
const NEWEST = 200;
const FIRST_SHOWN = 10;
const DETAIL_LENGTH_MAX = 140;

interface TimelineItem {
  at: string;
  kind: string;
  [member: string]: unknown;
}

export function addTail(jobs: Command, action: Action): void {
  jobs
    .command("tail [job-id]")
    .description("Follow one job to its end, or the newest jobs until you stop it")
    .option("--status <status>", "only jobs in these states", listed)
    .option("--type <type>", "only jobs of these types", listed)
    .addHelpText(
      "after",
      "\nOf one job its timeline is shown, and the exit code is 0 if it completed, else 1.",
    )
    .action(
      action((session, jobId: string | undefined, options: ListOptions) =>
        jobId === undefined ? tailNewest(session, options) : tailJob(session, jobId),
      ),
    );
}

async function tailJob(session: Session, jobId: string): Promise<void> {
  const { client, get, signal } = session.api();
  const path = `/api/jobs/${encodeURIComponent(jobId)}/timeline`;
  const seen = new Set<string>();
  const showNew = async (): Promise<void> => {
    for (const item of (await get<{ items: TimelineItem[] }>(path)).items) {
      const text = JSON.stringify(item);
      if (seen.has(text)) continue;
      seen.add(text);
      session.show(item, (shown) => timelineLine(session.paint, shown));
    }
  };
  let job: Job;
  let progress = "null";
  do {
    await showNew();
    job = await client.get(jobId, { waitSeconds: WAIT_SECONDS, signal });
    const now = jsonText(job.progress);
    if (now !== progress) session.say(`progress ${now}`);
    progress = now;
  } while (job.finishedAt === null);
  await showNew();
  session.say(`${job.id} ${paintStatus(session.paint, job.status)}`);
  if (job.status !== "completed") throw new FailedError(`The job ended as ${job.status}.`);
}

function timelineLine(paint: Paint, { at, kind, ...members }: TimelineItem): string {
  const details = Object.entries(members)
    .filter(([, value]) => value !== null && value !== false)
    .map(([name, value]) => `${name}=${typeof value === "string" ? plain(value) : jsonText(value)}`)
    .join(" ");
  const shown = cut(details, DETAIL_LENGTH_MAX);
  return `${paint("dim", instant(at))}  ${kind.padEnd(16)}  ${shown}`.trimEnd().concat("\n");
}

async function tailNewest(session: Session, options: ListOptions): Promise<void> {
  const { client, signal } = session.api();
  const filter = { ...filterOf(options), pageSize: NEWEST };
  let seen: Map<string, string> | undefined;
  while (!session.io.stop.aborted) {
    const page = await client.listPage(filter, { signal }).catch((error: unknown) => {
      // To stop is how this tail ends.
      if (session.io.stop.aborted) return undefined;
      throw error;
    });
    if (!page) return;
    const before = seen;
    const changed = before
      ? page.items.filter((job) => before.get(job.id) !== job.updatedAt)
      : page.items.slice(0, FIRST_SHOWN);
    seen = new Map(page.items.map((job) => [job.id, job.updatedAt]));
    showChanged(session, changed.reverse(), before === undefined);
    await session.io.sleep(POLL_MS, session.io.stop);
  }
}

function showChanged(session: Session, jobs: JobSummary[], withHead: boolean): void {
  if (session.json) for (const job of jobs) session.show(job, () => "");
  else if (jobs.length > 0) {
    const text = jobsTable(session.paint, jobs);
    session.io.stdout.write(withHead ? text : text.slice(text.indexOf("\n") + 1));
  }
}
