/** Accepts jobs: resolves their types, checks their payloads, and creates them in one round trip. */

import type { PayloadIssue } from "../core/define-job.js";
import type { CreateOutcome, NewJob, Ports, ResponseShape } from "../core/ports.js";
import { publishAfterCommit } from "./publish.js";
import { type JobRequest, type Refusal, resolveJob } from "./resolve-job.js";

export interface SubmitRequest {
  tenant: string;
  operation: string;
  idempotencyKey: string;
  requestHash: string;
  traceparent: string | null;
  /** A single job answers with its own object, a batch with a list. */
  shape: "single" | "batch";
  jobs: JobRequest[];
}

export type SubmitOutcome =
  | CreateOutcome
  | { kind: "refused"; code: Refusal["code"]; issues: PayloadIssue[] };

/**
 * Creates jobs, or replays the response of the same request, or refuses them all.
 *
 * Order:  a request that was accepted earlier is replayed even when today's schema refuses it.
 * Errors: `StoreUnavailableError`; a failed publish is no error, since the sweep publishes then.
 */
export async function submit(ports: Ports, request: SubmitRequest): Promise<SubmitOutcome> {
  const resolved = await Promise.all(
    request.jobs.map((job, at) =>
      resolveJob(ports, job, request.traceparent, request.shape === "batch" ? ["jobs", at] : []),
    ),
  );
  const refusals = resolved.filter((each) => "issues" in each);
  const [firstRefusal] = refusals;
  if (firstRefusal) {
    const replayed = await ports.store.findReplay(request);
    if (replayed?.kind === "replayed") return replayed;
    const issues = refusals.flatMap((refusal) => refusal.issues);
    return { kind: "refused", code: firstRefusal.code, issues };
  }
  const jobs = resolved.filter((each) => "id" in each);
  const outcome = await ports.store.create(
    {
      tenant: request.tenant,
      operation: request.operation,
      idempotencyKey: request.idempotencyKey,
      requestHash: request.requestHash,
      owner: ports.entropy.newId(),
      ttlHours: ports.settings.idempotencyTtlHours,
    },
    jobs,
    responseShape(ports.settings.publicUrl, jobs, request.shape),
  );
  if (outcome.kind === "created") {
    for (const { id, type } of jobs) ports.log("job_created", { jobId: id, type });
    await publishAfterCommit(ports, outcome.wakeups);
  }
  return outcome;
}

function responseShape(
  publicUrl: string,
  jobs: NewJob[],
  shape: SubmitRequest["shape"],
): ResponseShape {
  const item = (jobId: string, status: string, deduplicated: boolean): string =>
    JSON.stringify({ jobId, status, deduplicated, statusUrl: `${publicUrl}/api/jobs/${jobId}` });
  return {
    prefix: shape === "batch" ? '{"jobs":[' : "",
    suffix: shape === "batch" ? "]}" : "",
    fresh: jobs.map(({ id }) => item(id, "queued", false)),
    deduplicated: item("{id}", "{status}", true),
    status: 202,
  };
}
