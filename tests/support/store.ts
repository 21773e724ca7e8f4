/** The production store over a test database, and jobs to put into it. */

import { randomUUID } from "node:crypto";
import type { NewJob, ResponseShape, Store } from "../../src/core/ports.js";
import type { Take } from "../../src/core/sweep.js";
import { createDatabase } from "../../src/storage/client.js";
import { createStore } from "../../src/storage/store.js";
import type { TestDatabase } from "./database.js";

/** Every call goes through the real driver and the Neon stand-in. */
export function storeOver(database: TestDatabase): Store {
  return createStore(
    createDatabase({
      databaseUrl: database.url,
      databaseHttpUrl: database.neon.endpoint,
      timeoutSeconds: 10,
      sleep: async () => {},
    }),
  );
}

/** A job to insert; everything that a test does not care about has a value. */
export function newJob(options: Partial<NewJob> = {}): NewJob {
  return {
    id: randomUUID(),
    type: "test.script",
    payload: {},
    priority: 0,
    maxAttempts: 3,
    runAt: null,
    delaySeconds: 0,
    dedupeKey: null,
    dedupeUntil: "finished",
    publish: true,
    traceparent: null,
    ...options,
  };
}

/** A batch to take under an id of its own. */
export const newTake = (limit = 10, unpublishedTypes: string[] = []): Take => ({
  takeId: randomUUID(),
  unpublishedTypes,
  limit,
});

/** Creates jobs under one fresh idempotency key; gives the outcome. */
export async function createJobs(store: Store, jobs: NewJob[], tenant = "acme") {
  const shape: ResponseShape = {
    prefix: "[",
    suffix: "]",
    fresh: jobs.map(({ id }) => JSON.stringify({ jobId: id, status: "queued" })),
    deduplicated: '{"jobId":"{id}","status":"{status}"}',
    status: 202,
  };
  const request = {
    tenant,
    operation: "test",
    idempotencyKey: randomUUID(),
    requestHash: "hash",
    owner: randomUUID(),
    ttlHours: 24,
  };
  return store.create(request, jobs, shape);
}

/** Claims for a delivery that names the job. */
export function claimFor(
  store: Store,
  job: Pick<NewJob, "id" | "type">,
  options: Partial<Parameters<Store["claim"]>[0]> = {},
) {
  return store.claim({
    jobId: job.id,
    type: job.type,
    seq: 1,
    lockToken: randomUUID(),
    messageId: `msg_${randomUUID()}`,
    unknownIsPermit: false,
    leases: { [job.type]: 60 },
    ...options,
  });
}
