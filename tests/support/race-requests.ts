/** Create requests with keys that several callers share. */

import { randomUUID } from "node:crypto";
import type {
  CreateOutcome,
  IdempotentRequest,
  NewJob,
  ResponseShape,
  Store,
} from "../../src/core/ports.js";
import { TYPE } from "./race-jobs.js";
import { newJob } from "./store.js";

export interface CreateCall {
  request: IdempotentRequest;
  jobs: NewJob[];
  shape: ResponseShape;
}

/** A caller's request: ids and owner of its own, whatever key it shares. */
export function createCall(
  jobs: Partial<NewJob>[] = [{}],
  request: Partial<IdempotentRequest> = {},
): CreateCall {
  const items = jobs.map((options) => newJob({ type: TYPE, ...options }));
  return {
    request: {
      tenant: "acme",
      operation: "POST /api/jobs",
      idempotencyKey: randomUUID(),
      requestHash: "hash",
      owner: randomUUID(),
      ttlHours: 24,
      ...request,
    },
    jobs: items,
    shape: {
      prefix: "[",
      suffix: "]",
      fresh: items.map(({ id }) => JSON.stringify({ jobId: id, deduplicated: false })),
      deduplicated: '{"jobId":"{id}","deduplicated":true,"status":"{status}"}',
      status: 202,
    },
  };
}

export const send = (store: Store, { request, jobs, shape }: CreateCall): Promise<CreateOutcome> =>
  store.create(request, jobs, shape);

export interface AnsweredJob {
  jobId: string;
  deduplicated: boolean;
  status?: string;
}

/** The jobs that an accepted request was answered with. */
export function answeredJobs(outcome: CreateOutcome): AnsweredJob[] {
  if (!("body" in outcome)) throw new Error(`not accepted: ${outcome.kind}`);
  return JSON.parse(outcome.body) as AnsweredJob[];
}
