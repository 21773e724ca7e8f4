/** Judges the messages that QStash has given up on by what the database says of their jobs. */

import { isTerminal } from "../core/job.js";
import type { DeadMessage, Difference, JobTrace, ReconcilePorts } from "../core/reconcile.js";

const JOBS_PER_STATEMENT = 500;

/**
 * Finds what is different; the messages must have been read before this is called.
 *
 * Shape: nothing where a job runs: its message may have been answered 409 until QStash gave up, and
 *        the lease is the sweep's.
 */
export async function compareDeadMessages(
  { store, settings }: ReconcilePorts,
  dead: DeadMessage[],
  nowMs: number,
): Promise<Difference[]> {
  const jobIds = [...new Set(dead.flatMap(({ message }) => message?.jobId ?? []))];
  const traces = new Map<string, JobTrace>();
  for (let at = 0; at < jobIds.length; at += JOBS_PER_STATEMENT) {
    const found = await store.traceJobs(jobIds.slice(at, at + JOBS_PER_STATEMENT));
    for (const trace of found) traces.set(trace.jobId, trace);
  }
  const daysKept = Math.min(settings.retentionDays, settings.deadLetterRetentionDays);
  const keptSinceMs = nowMs - daysKept * 86_400_000;
  return dead.flatMap((each) => {
    const trace = each.message ? traces.get(each.message.jobId) : undefined;
    // A job that old may have ended, and retention may have taken it.
    if (each.message && !trace && each.createdAtMs <= keptSinceMs) return [];
    return differenceOf(each, trace) ?? [];
  });
}

function differenceOf(dead: DeadMessage, trace: JobTrace | undefined): Difference | undefined {
  const { message, messageId, dlqId } = dead;
  const answer = dead.responseStatus ? `was answered ${dead.responseStatus}` : "got no answer";
  if (!message) {
    const detail = `a message of somebody else to our processor ${answer}`;
    return { kind: "foreign_message", detail, isRepairable: false, messageId, dlqId };
  }
  const { jobId, type, seq } = message;
  const named = { jobId, type, seq, messageId, dlqId };
  if (!trace) {
    const detail = `it ${answer}; its job is not in this database`;
    return { kind: "unknown_job", detail, isRepairable: false, ...named };
  }
  if (trace.status === "processing") return undefined;
  const isPresent = trace.triggeredAtMs !== null && seq >= trace.seq;
  if (!isTerminal(trace.status) && isPresent) {
    const detail = `the job is ${trace.status}; its message ${answer}, and QStash gave it up`;
    return { kind: "dead_message", detail, isRepairable: true, ...named };
  }
  const detail = isTerminal(trace.status)
    ? `the job is ${trace.status}`
    : `the job is ${trace.status} and has a newer message`;
  return { kind: "spent_dead_letter", detail, isRepairable: true, ...named };
}
