/** Creating jobs, each call under one idempotency key whatever happens to its answers. */

import { batchesOf } from "./batches.js";
import { AntreanError } from "./error.js";
import type { AcceptedJob, AnyJobs } from "./jobs.js";
import type { Client } from "./methods.js";
import type { Transport } from "./transport.js";

/** Below the server's limit for a batch, and that of Vercel for any request. */
const BATCH_BYTES_MAX = 4_000_000;

/** Makes the methods that create jobs; types are checked by the compiler only. */
export function createEnqueue(
  transport: Transport,
  batchBytesMax = BATCH_BYTES_MAX,
): Pick<Client<AnyJobs>, "enqueue" | "enqueueMany"> {
  return {
    enqueue(type, payload, { signal, idempotencyKey = newKey(), ...job } = {}) {
      const body = JSON.stringify({ type, payload, ...job });
      return transport({ method: "POST", path: "/api/jobs", body, idempotencyKey, signal });
    },

    async enqueueMany(jobs, { signal, idempotencyKey = newKey() } = {}) {
      const accepted: AcceptedJob[][] = [];
      for (const [at, { first, body }] of batchesOf(jobs, batchBytesMax).entries()) {
        const call = { method: "POST", path: "/api/jobs/batch", body, signal } as const;
        const key = `${idempotencyKey}.${at}`;
        const answer = await transport<{ jobs: AcceptedJob[] }>({
          ...call,
          idempotencyKey: key,
        }).catch((error: unknown) => {
          throw ofWholeList(error, first, idempotencyKey);
        });
        accepted.push(answer.jobs);
      }
      return accepted.flat();
    },
  };
}

/** Tells the failure of a batch in terms of the caller's list and key. */
function ofWholeList(error: unknown, first: number, idempotencyKey: string): unknown {
  if (!(error instanceof AntreanError)) return error;
  const errors = error.errors.map(({ pointer, detail }) => ({
    pointer: pointer.replace(/\d+/, (at) => String(first + Number(at))),
    detail,
  }));
  return new AntreanError(error.code, error.detail, {
    ...error,
    errors,
    idempotencyKey,
    cause: error,
  });
}

/** Not `randomUUID`, which browsers offer on secure pages only. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
