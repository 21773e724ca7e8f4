/** Accepts jobs: resolves their types, checks their payloads, and creates them in one round trip. */

import type { JobDefinition, PayloadIssue } from "../core/define-job.js";
import { DEDUPE_KEY_LENGTH_MAX, type Json, RUN_AT_DAYS_MAX } from "../core/job.js";
import type { CreateOutcome, NewJob, Ports, ResponseShape } from "../core/ports.js";
import { checkPayload } from "./check-payload.js";
import { publishAfterCommit } from "./publish.js";

/** One job as a client asks for it; shapes and bounds were checked, its type was not. */
export interface JobRequest {
  type: string;
  payload: Json;
  priority?: number;
  runAt?: string;
  delaySeconds?: number;
  maxAttempts?: number;
  dedupeKey?: string;
}

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
  | { kind: "refused"; code: "validation_failed" | "unknown_job_type"; issues: PayloadIssue[] };

/**
 * Creates jobs, or replays the response of the same request, or refuses them all.
 *
 * Order:  a request that was accepted earlier is replayed even when today's schema refuses it.
 * Errors: `StoreUnavailableError`; a failed publish is no error, since the sweep publishes then.
 */
export async function submit(ports: Ports, request: SubmitRequest): Promise<SubmitOutcome> {
  const resolved = await Promise.all(
    request.jobs.map((job, at) =>
      resolve(ports, job, request, request.shape === "batch" ? ["jobs", at] : []),
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

interface Refusal {
  code: "validation_failed" | "unknown_job_type";
  issues: PayloadIssue[];
}

async function resolve(
  ports: Ports,
  job: JobRequest,
  request: SubmitRequest,
  path: (string | number)[],
): Promise<NewJob | Refusal> {
  const definition = ports.registry.get(job.type);
  if (!definition) {
    const message = `no job type "${job.type}" here; known: ${[...ports.registry.keys()].join(", ")}`;
    return { code: "unknown_job_type", issues: [{ path: [...path, "type"], message }] };
  }
  const issues = await checkJob(ports, definition, job);
  if ("refused" in issues) {
    const placed = issues.refused.map((issue) => ({ ...issue, path: [...path, ...issue.path] }));
    return { code: "validation_failed", issues: placed };
  }
  return {
    id: ports.entropy.newId(),
    type: job.type,
    payload: job.payload,
    priority: job.priority ?? 0,
    maxAttempts: job.maxAttempts ?? definition.maxAttempts,
    runAt: job.runAt ?? null,
    delaySeconds: job.delaySeconds ?? 0,
    dedupeKey: issues.dedupeKey,
    dedupeUntil: definition.dedupeUntil,
    publish: definition.runsOn === "qstash",
    traceparent: request.traceparent,
  };
}

async function checkJob(
  ports: Ports,
  definition: JobDefinition,
  job: JobRequest,
): Promise<{ dedupeKey: string | null } | { refused: PayloadIssue[] }> {
  const checked = await checkPayload(ports, definition, job.payload);
  if ("refused" in checked) return checked;
  const refused: PayloadIssue[] = [];
  if (job.runAt !== undefined && isTooFarAhead(job.runAt)) {
    const message = `at most ${RUN_AT_DAYS_MAX} days ahead`;
    refused.push({ path: ["runAt"], message });
  }
  const dedupeKey = job.dedupeKey ?? definition.dedupeKey(checked.data) ?? null;
  const fault = dedupeKey === null ? undefined : dedupeKeyFault(dedupeKey);
  if (fault) refused.push({ path: ["dedupeKey"], message: fault });
  return refused.length > 0 ? { refused } : { dedupeKey };
}

/** A sanity bound on input, not a due time: minutes of skew do not matter at a year's distance. */
function isTooFarAhead(runAt: string): boolean {
  return Date.parse(runAt) - Date.now() > RUN_AT_DAYS_MAX * 86_400_000;
}

/** Keys may also come from a type's own function, so the schema of the request is not enough. */
function dedupeKeyFault(key: string): string | undefined {
  if (key.length === 0 || key.length > DEDUPE_KEY_LENGTH_MAX) {
    return `must have 1 to ${DEDUPE_KEY_LENGTH_MAX} characters`;
  }
  return key.includes("\u0000") || !key.isWellFormed()
    ? "holds a character that cannot be stored"
    : undefined;
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
