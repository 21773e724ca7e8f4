/** A job as clients see it. */

import type * as z from "zod/mini";
import type { Job } from "../core/job.js";
import type { jobViewSchema } from "./answers/job-view.js";

/** Gives the members that clients see; whose job it is, they know. */
export function jobView(job: Job): z.input<typeof jobViewSchema> {
  return {
    id: job.id,
    type: job.type,
    status: job.status,
    priority: job.priority,
    payload: job.payload,
    result: job.result,
    resultOmitted: job.resultOmitted,
    progress: job.progress,
    attempts: job.attempts,
    attemptsLeft: job.attemptsLeft,
    maxAttempts: job.maxAttempts,
    dedupeKey: job.dedupeKey,
    lastError: job.lastError,
    cancelRequested: job.cancelRequested,
    nextRunAt: job.nextRunAt,
    lockedUntil: job.lockedUntil,
    startedAt: job.startedAt,
    finishedAt: job.finishedAt,
    createdAt: job.createdAt,
    updatedAt: job.updatedAt,
  };
}
