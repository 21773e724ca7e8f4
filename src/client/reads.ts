/** Looking at jobs, at once or when they have ended. */

import { AntreanError } from "./error.js";
import type { AnyJobs, EndedJob, Job, JobFilter, JobPage } from "./jobs.js";
import type { Client, GetOptions } from "./methods.js";
import { type Sleep, within } from "./time.js";
import type { Transport } from "./transport.js";

/** The server's longest wait in one request. */
const WAIT_SECONDS_MAX = 25;
/** Between waits: a proxy that drops the query must not make them a storm of requests. */
const WAIT_PAUSE_MS = 500;
/** Faults in a row that `waitFor` survives: some five minutes of them. */
const WAIT_RETRIES = 30;

/** Gives the path of a job, or of something that is done to it. */
export function pathOf(jobId: string, verb = ""): string {
  return `/api/jobs/${encodeURIComponent(jobId)}${verb}`;
}

/** Makes the methods that change nothing. */
export function createReads(
  transport: Transport,
  sleep: Sleep,
): Pick<Client<AnyJobs>, "get" | "list" | "listPage" | "waitFor"> {
  const read = (jobId: string, { waitSeconds, ...options }: GetOptions & { retries?: number }) => {
    const query = waitSeconds === undefined ? "" : `?wait=${waitSeconds}`;
    return transport<Job>({ method: "GET", path: pathOf(jobId) + query, waitSeconds, ...options });
  };

  const reads: ReturnType<typeof createReads> = {
    get: (jobId, options = {}) => read(jobId, options),

    listPage: (filter = {}, options = {}) =>
      transport<JobPage>({ method: "GET", path: `/api/jobs${queryOf(filter)}`, ...options }),

    async *list(filter = {}, options = {}) {
      let cursor: string | undefined;
      do {
        const page = await reads.listPage({ ...filter, cursor }, options);
        yield* page.items;
        cursor = page.nextCursor ?? undefined;
      } while (cursor !== undefined);
    },

    waitFor(jobId, { timeoutSeconds = Number.POSITIVE_INFINITY, signal } = {}) {
      const limits = {
        sleep,
        limitMs: timeoutSeconds * 1000,
        expired: () => new AntreanError("wait_timeout", `Not ended after ${timeoutSeconds} s.`),
        signal,
      };
      const waitSeconds = Math.min(WAIT_SECONDS_MAX, Math.ceil(timeoutSeconds));
      return within(limits, async (signal) => {
        for (;;) {
          const job = await read(jobId, { waitSeconds, signal, retries: WAIT_RETRIES });
          if (hasEnded(job)) return job;
          await sleep(WAIT_PAUSE_MS, signal);
        }
      });
    },
  };
  return reads;
}

/** Exactly the jobs that have ended have an end. */
function hasEnded(job: Job): job is EndedJob {
  return job.finishedAt !== null;
}

function queryOf({ pageSize, ...filter }: JobFilter & { cursor?: string }): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...filter, limit: pageSize })) {
    for (const each of [value ?? []].flat()) {
      query.append(name, each instanceof Date ? each.toISOString() : String(each));
    }
  }
  const text = String(query);
  return text && `?${text}`;
}
