/** `antrean/client`: jobs over HTTP, their payloads known to the compiler; runs wherever fetch does. */

import { createEnqueue } from "./enqueue.js";
import { AntreanError } from "./error.js";
import type { AnyJobs } from "./jobs.js";
import type { Client } from "./methods.js";
import { createOperations } from "./operations.js";
import { createReads } from "./reads.js";
import { sleepWithTimer } from "./time.js";
import { createTransport, type TransportOptions } from "./transport.js";

export type {
  ApiErrorCode,
  ErrorCode,
  LocalErrorCode,
  RefusedPlace,
} from "./error.js";
export type {
  AcceptedJob,
  AnyJobs,
  EndedJob,
  Job,
  JobFilter,
  JobOptions,
  JobPage,
  JobRequest,
  JobStatus,
  JobSummary,
  JobsOf,
  JobType,
  Json,
  PayloadOf,
  TerminalStatus,
} from "./jobs.js";
export type {
  CallOptions,
  Client,
  EnqueueOptions,
  GetOptions,
  KeyedOptions,
  ReasonOptions,
  ReplayOptions,
  WaitOptions,
} from "./methods.js";
export { AntreanError };

export interface ClientOptions extends TransportOptions {
  /** The server's `MAX_BATCH_BODY_BYTES`; 4,000,000 when left out. */
  batchBytesMax?: number;
}

/**
 * Makes a client.
 *
 * @typeParam Jobs the job types: a map from type to definition, as the generated registry exports
 *   it (`createClient<Jobs>`), made of a list of them (`createClient<JobsOf<typeof jobs>>`), or
 *   straight to the payload (`createClient<{ greet: { to: string } }>`)
 */
export function createClient<Jobs extends object = AnyJobs>(options: ClientOptions): Client<Jobs> {
  const transport = createTransport(options);
  const client: Client<AnyJobs> = {
    ...createEnqueue(transport, options.batchBytesMax),
    ...createReads(transport, options.sleep ?? sleepWithTimer),
    ...createOperations(transport),
  };
  // Safe because types of jobs and payloads are the compiler's alone: nothing here looks at them.
  return client as Client<Jobs>;
}
