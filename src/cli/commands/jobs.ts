/** `antrean jobs`: single jobs and lists of them. */

import type { Command } from "commander";
import type { Job } from "../../client/client.js";
import { jobLine, jobText } from "../job-text.js";
import { type JsonOptions, readJsonText, withJson } from "../json-input.js";
import { addListOptions, addStatusOption, type ListOptions, listJobs } from "../list-jobs.js";
import { wholeNumber } from "../parse-option.js";
import type { Action, Session } from "../session.js";
import { addCreate } from "./create-jobs.js";
import { addTail } from "./tail-jobs.js";

interface ReasonOption {
  reason?: string;
}

export function addJobs(program: Command, action: Action): void {
  const jobs = program.command("jobs").description("Create jobs, look at them, act on them");
  addListOptions(addStatusOption(jobs.command("list").description("List jobs, newest first")))
    .addHelpText("after", "\nExample:\n  $ antrean jobs list --status failed,dead_letter --watch 5")
    .action(action((session, options: ListOptions) => listJobs(session, options)));
  jobs
    .command("show <job-id>")
    .description("Show one job")
    .option("--wait <seconds>", "until it has ended, at most so many seconds", wholeNumber(0, 25))
    .action(action(showJob));
  addCreate(jobs, action);
  jobs
    .command("cancel <job-id>")
    .description("Cancel a job that waits; ask a running one to stop")
    .option("--reason <text>", "kept in its timeline")
    .action(action(cancelJob));
  jobs
    .command("replay <job-id>")
    .description("Start a dead letter or a cancelled job anew, under its id")
    .option("--reason <text>", "kept in its timeline")
    .option("--payload <json>", "replaces the payload")
    .option("--file <file>", "replaces the payload with that of a file; - is standard input")
    .action(action(replayJob));
  jobs
    .command("run-now <job-id>")
    .description("Make a job due that waits for a later time")
    .option("--reason <text>", "kept in its timeline")
    .action(action(runJobNow));
  addTail(jobs, action);
}

async function showJob(
  session: Session,
  jobId: string,
  { wait }: { wait?: number },
): Promise<void> {
  const { client, signal } = session.api();
  const job = await client.get(jobId, { waitSeconds: wait, signal });
  session.show(job, (shown) => jobText(session.paint, shown));
}

async function cancelJob(session: Session, jobId: string, options: ReasonOption): Promise<void> {
  const { client, signal } = session.api();
  showLine(session, await client.cancel(jobId, { reason: options.reason, signal }));
}

async function replayJob(
  session: Session,
  jobId: string,
  { reason, ...source }: ReasonOption & JsonOptions,
): Promise<void> {
  const payload = await readJsonText(session.io, source);
  const path = `/api/jobs/${encodeURIComponent(jobId)}/replay`;
  const body = withJson({ reason }, "payload", payload);
  showLine(session, await session.api().call<Job>({ method: "POST", path, body }));
}

async function runJobNow(session: Session, jobId: string, options: ReasonOption): Promise<void> {
  const { client, signal } = session.api();
  showLine(session, await client.runNow(jobId, { reason: options.reason, signal }));
}

function showLine(session: Session, job: Job): void {
  session.show(job, (shown) => jobLine(session.paint, shown));
}
