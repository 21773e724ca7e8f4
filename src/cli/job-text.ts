/** Jobs as text. */

import type { Job, JobSummary } from "../client/client.js";
import {
  cut,
  fields,
  instant,
  type Paint,
  paintStatus,
  plain,
  statusCell,
  table,
} from "./paint.js";

const ERROR_LENGTH_MAX = 60;

/** One line for each job. */
export function jobsTable(paint: Paint, jobs: JobSummary[]): string {
  if (jobs.length === 0) return "No jobs.\n";
  return table(
    paint,
    ["ID", "TYPE", "STATUS", "TRIES", "CREATED (UTC)", "NEXT RUN", "LAST ERROR"],
    jobs.map((job) => [
      job.id,
      job.type,
      statusCell(job.status),
      // Of all its lives: a replay or a snooze leaves more attempts than `maxAttempts` behind.
      `${job.attempts}/${job.attempts + job.attemptsLeft}`,
      instant(job.createdAt),
      instant(job.nextRunAt),
      job.lastError ? cut(`${job.lastError.code}: ${job.lastError.message}`, ERROR_LENGTH_MAX) : "",
    ]),
  );
}

/** Everything about one job. */
export function jobText(paint: Paint, job: Job): string {
  const error = job.lastError;
  const asking = job.cancelRequested && job.finishedAt === null ? " (cancel requested)" : "";
  return fields(paint, [
    ["id", job.id],
    ["type", job.type],
    ["status", paintStatus(paint, job.status) + asking],
    ["priority", String(job.priority)],
    ["attempts", `${job.attempts} started, ${job.attemptsLeft} left of ${job.maxAttempts}`],
    ["dedupe key", job.dedupeKey && plain(job.dedupeKey)],
    ["created", instant(job.createdAt)],
    ["next run", job.nextRunAt && instant(job.nextRunAt)],
    ["started", job.startedAt && instant(job.startedAt)],
    ["locked until", job.lockedUntil && instant(job.lockedUntil)],
    ["finished", job.finishedAt && instant(job.finishedAt)],
    ["last error", error && `${error.code} at ${instant(error.at)}: ${plain(error.message)}`],
    ["payload", jsonText(job.payload)],
    ["progress", job.progress === null ? null : jsonText(job.progress)],
    ["result", job.resultOmitted ?? (job.result === null ? null : jsonText(job.result))],
  ]);
}

/** JSON escapes the control characters but one, which some terminals obey. */
export function jsonText(value: unknown): string {
  return plain(JSON.stringify(value));
}

/** What became of an operation, in one line. */
export function jobLine(paint: Paint, job: JobSummary): string {
  const asked = job.cancelRequested && job.finishedAt === null ? ", asked to stop" : "";
  const due = job.nextRunAt ? `, due ${instant(job.nextRunAt)}` : "";
  return `${job.id}  ${paintStatus(paint, job.status)}${asked}${due}\n`;
}
