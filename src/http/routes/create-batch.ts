/** `POST /api/jobs/batch`: accepts many jobs, or none of them. */

import * as z from "zod/mini";
import type { JobRequest } from "../../engine/resolve-job.js";
import { submit } from "../../engine/submit.js";
import { acceptedResponse, CREATE_PROBLEMS } from "../accepted.js";
import { jobRequestSchema } from "../job-request.js";
import { Problem } from "../problem.js";
import { defineRoute } from "../route.js";

const JOBS_MAX = 500;

export const createBatch = defineRoute(
  {
    method: "POST",
    path: "/api/jobs/batch",
    role: "write",
    operation: "create_batch",
    summary: "Create up to 500 jobs together",
    body: {
      schema: z.strictObject({
        jobs: z.array(jobRequestSchema).check(z.minLength(1), z.maxLength(JOBS_MAX)),
      }),
      limit: "batch",
      levelsAround: 3,
    },
    problems: CREATE_PROBLEMS,
  },
  async ({ app, ports, traceparent, idempotency, body: { jobs } }) => {
    checkSizes(jobs, app.config.maxBodyBytes);
    return acceptedResponse(
      await submit(ports, { ...idempotency, traceparent, shape: "batch", jobs }),
    );
  },
);

/** A batch is no way around the limit of a single job. */
function checkSizes(jobs: JobRequest[], bytesMax: number): void {
  const encoder = new TextEncoder();
  const at = jobs.findIndex((job) => encoder.encode(JSON.stringify(job)).length > bytesMax);
  if (at === -1) return;
  const detail = `At most ${bytesMax} bytes are accepted for one job; jobs[${at}] has more.`;
  throw new Problem("payload_too_large", detail);
}
