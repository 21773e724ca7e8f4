/** `GET /api/jobs/:id`: reads one job, at once or when it has ended. */

import * as z from "zod/mini";
import { isTerminal, type Job } from "../../core/job.js";
import type { Actor } from "../../core/operations.js";
import type { Ports } from "../../core/ports.js";
import { readJob } from "../../engine/inspect.js";
import { jobParamsSchema } from "../job-request.js";
import { jobView } from "../job-view.js";
import { notFound } from "../problem.js";
import { defineRoute } from "../route.js";

/** The first look comes soon, since most jobs are short; later ones spare the database. */
const POLL_MS = { first: 250, max: 2000 } as const;

const secondsSchema = z
  .string()
  .check(z.regex(/^(?:1?\d|2[0-5])$/, "must be a whole number of seconds from 0 to 25"));

export const getJob = defineRoute(
  {
    method: "GET",
    path: "/api/jobs/:id",
    role: "read",
    summary: "Read a job",
    params: jobParamsSchema,
    query: z.object({
      wait: z
        ._default(z.pipe(secondsSchema, z.transform(Number)), 0)
        .check(
          z.describe("Answers as soon as the job has ended, at the latest after so many seconds."),
        ),
    }),
    problems: ["not_found"],
  },
  async ({ ports, actor, params, query, request }) => {
    const job = await readWhenEnded(ports, actor, {
      jobId: params.id,
      waitMs: query.wait * 1000,
      signal: request.signal,
    });
    if (!job) throw notFound();
    return Response.json(jobView(job));
  },
);

async function readWhenEnded(
  ports: Ports,
  actor: Actor,
  { jobId, waitMs, signal }: { jobId: string; waitMs: number; signal: AbortSignal },
): Promise<Job | null> {
  let pollMs: number = POLL_MS.first;
  let leftMs = waitMs;
  for (;;) {
    const job = await readJob(ports, actor, jobId);
    // Nobody reads the answer of a request that was given up.
    if (!job || isTerminal(job.status) || leftMs <= 0 || signal.aborted) return job;
    const sleepMs = Math.min(pollMs, leftMs);
    await ports.timers.sleep(sleepMs);
    leftMs -= sleepMs;
    pollMs = Math.min(pollMs * 2, POLL_MS.max);
  }
}
