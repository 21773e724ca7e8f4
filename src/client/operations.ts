/** What is done to jobs that exist. None of it takes a key, so only what may be repeated is. */

import { AntreanError } from "./error.js";
import type { AnyJobs, Job } from "./jobs.js";
import type { CallOptions, Client } from "./methods.js";
import { pathOf } from "./reads.js";
import type { Call, Transport } from "./transport.js";

/** Makes the methods that change a job. */
export function createOperations(
  transport: Transport,
): Pick<Client<AnyJobs>, "cancel" | "replay" | "runNow"> {
  const post = (path: string, { signal, ...body }: CallOptions, more?: Partial<Call>) =>
    transport<Job>({ method: "POST", path, body: JSON.stringify(body), signal, ...more });

  return {
    async cancel(jobId, options = {}) {
      try {
        return await post(pathOf(jobId, "/cancel"), options, { isRepeatable: true });
      } catch (error) {
        // A repeat is told that the job has ended. If cancelled, then by the try whose answer was lost.
        const { code, tries } = error instanceof AntreanError ? error : {};
        if (code !== "job_not_cancellable" || tries === 1) throw error;
        const { signal } = options;
        const job = await transport<Job>({ method: "GET", path: pathOf(jobId), signal });
        if (job.status !== "cancelled") throw error;
        return job;
      }
    },
    replay: (jobId, options = {}) => post(pathOf(jobId, "/replay"), options),
    runNow: (jobId, options = {}) => post(pathOf(jobId, "/run-now"), options),
  };
}
