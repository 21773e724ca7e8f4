/** `POST /api/jobs`: accepts one job. */

import { submit } from "../../engine/submit.js";
import { acceptedResponse, CREATE_PROBLEMS } from "../accepted.js";
import { jobRequestSchema } from "../job-request.js";
import { defineRoute } from "../route.js";

export const createJob = defineRoute(
  {
    method: "POST",
    path: "/api/jobs",
    role: "write",
    operation: "create_job",
    summary: "Create a job",
    body: { schema: jobRequestSchema, limit: "job", levelsAround: 1 },
    problems: CREATE_PROBLEMS,
  },
  async ({ ports, traceparent, idempotency, body }) =>
    acceptedResponse(
      await submit(ports, { ...idempotency, traceparent, shape: "single", jobs: [body] }),
      // From the stored bytes: a replay names the address of its own time.
      (stored) => (JSON.parse(stored) as { statusUrl: string }).statusUrl,
    ),
);
