/** `antrean`, the package: the application inside a Hono or Next.js project, with that project's jobs. */

import { Hono } from "hono";
import { getPath } from "hono/utils/url";
import type { JobsOf, JobType, PayloadOf } from "../client/jobs.js";
import { type Antrean, compose } from "../compose.js";
import { type Config, ConfigError, readConfig, vercelUrl } from "../config.js";
import type { Environment, JobDefinition, Registry } from "../core/define-job.js";
import type { SqlStatement } from "../core/ports.js";
import type { JobRequest } from "../engine/resolve-job.js";
import { createGuardedFetch } from "./guarded-fetch.js";
import { onFirstUse, webPlatform } from "./platform.js";
import { vercelContext } from "./vercel-context.js";

export type {
  EffectContext,
  JobContext,
  JobDefinition,
  JobLog,
  JobOptions,
  Json,
  OnceOptions,
  PayloadIssue,
} from "../core/define-job.js";
export { defineJob, FatalError, RetryAfterError } from "../core/define-job.js";
export { EnqueueRefusedError } from "../engine/resolve-job.js";
export { default as httpRequest } from "../jobs/http_request.js";
export { default as sendEmail } from "../jobs/send_email.js";
export type { Environment, JobsOf, SqlStatement };
export { ConfigError };

export interface MountOptions<Jobs extends readonly JobDefinition[]> {
  /** The job types of the project, each made by `defineJob`. */
  jobs: Jobs;
  /** Where the project mounts it, such as `/antrean`: the end of `PUBLIC_URL`. Default: the root. */
  basePath?: string;
  /** Default: `process.env`. Read at the first use, so that a build needs no settings. */
  env?: Environment;
}

/** How and when a job runs; what is left out is decided by its type. */
export type CodeJobOptions = Omit<JobRequest, "type" | "payload">;

/** A job as code asks for it. */
export type CodeJob<Jobs> = {
  [Type in JobType<Jobs>]: CodeJobOptions & { type: Type; payload: PayloadOf<Jobs[Type]> };
}[JobType<Jobs>];

/** Creating jobs from the project's own code, for one tenant: the name of an API key. */
export interface CodeJobs<Jobs> {
  /** `created` is false when an active job already had the dedupe key. */
  enqueue(job: CodeJob<Jobs>): Promise<{ jobId: string; created: boolean }>;
  /** For the caller's own batch or transaction; call `nudge` after its commit. */
  enqueueStatement(job: CodeJob<Jobs>): Promise<{ jobId: string; statement: SqlStatement }>;
  nudge(jobIds: string[]): Promise<void>;
}

/** Running the types with `runsOn: "worker"` in a process of one's own. */
export interface WorkOptions<Jobs> {
  /** Most urgent first. */
  types: JobType<Jobs>[];
  /** Attempts at the same time. */
  concurrency: number;
  /** How long to wait when nothing is due. */
  pollSeconds: number;
  /** Ends the work: what runs is finished, nothing more is claimed. */
  stop: AbortSignal;
}

/** A mounted application. Methods other than `fetch` throw `ConfigError` for faulty settings. */
export interface MountedAntrean<Jobs> {
  /** For Hono: `app.route("/antrean", antrean.app)`. */
  app: Hono;
  /** For everything that calls a function with a request, such as Next.js. */
  fetch(request: Request): Promise<Response>;
  /** Does one sweep, for a cron of the project's own. */
  sweep(): Promise<void>;
  jobsOf(tenant: string): CodeJobs<Jobs>;
  work(options: WorkOptions<Jobs>): Promise<void>;
}

/**
 * Makes the application, to be mounted under `basePath`.
 *
 * Errors: throws `TypeError` for a faulty `basePath` and for two jobs of one type. Faulty settings
 *         are answered with 503 `misconfigured`, and every one of them is logged by its name.
 */
export function createAntrean<const Jobs extends readonly JobDefinition[]>({
  jobs,
  basePath = "",
  env = process.env,
}: MountOptions<Jobs>): MountedAntrean<JobsOf<Jobs>> {
  checkBasePath(basePath);
  const registry = registryOf(jobs);
  const served = onFirstUse(() => start(env, registry, basePath), basePath);
  const fetch = (request: Request) => served.fetch(request, vercelContext());
  return {
    app: new Hono().all("*", ({ req }) => fetch(req.raw)),
    fetch,
    sweep: async () => void (await served.sweep({ requestId: crypto.randomUUID() })),
    // Safe because the engine checks every payload by its type's schema.
    jobsOf: (tenant) =>
      served.use().jobsOf(tenant, vercelContext()) as unknown as CodeJobs<JobsOf<Jobs>>,
    work: async (options) => served.use().work(options),
  };
}

function start(env: Environment, registry: Registry, basePath: string): Antrean {
  const config = readMountedConfig(env, basePath);
  const outboundFetch = createGuardedFetch({ allow: config.env.OUTBOUND_ALLOW });
  const pathOf = pathBelow(basePath);
  return compose(config, registry, { ...webPlatform, outboundFetch, pathOf });
}

/** Vercel's address of a deployment is that of the project, which mounts us somewhere below. */
function readMountedConfig(env: Environment, basePath: string): Config {
  const vercel = vercelUrl(env);
  const publicUrl = env.PUBLIC_URL?.trim() || (vercel && vercel + basePath);
  const faults =
    publicUrl && !publicUrl.replace(/\/+$/, "").endsWith(basePath)
      ? [`PUBLIC_URL must end in ${basePath}, where the application is mounted`]
      : [];
  try {
    const platform = env.VERCEL ? "vercel" : "node";
    const config = readConfig({ ...env, PUBLIC_URL: publicUrl }, platform);
    if (faults.length === 0) return config;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    faults.unshift(...error.faults);
  }
  throw new ConfigError(faults);
}

function registryOf(jobs: readonly JobDefinition[]): Registry {
  const registry = new Map<string, JobDefinition>();
  for (const job of jobs) {
    if (registry.has(job.type)) throw new TypeError(`Two jobs have the type "${job.type}".`);
    registry.set(job.type, job);
  }
  return registry;
}

/** One or more segments; an empty path is the root. */
const BASE_PATH = /^(?:\/[\w.~-]+)*$/;

function checkBasePath(basePath: string): void {
  if (BASE_PATH.test(basePath)) return;
  throw new TypeError(`basePath "${basePath}" must be like /antrean, without a slash at its end.`);
}

/** Takes the base path off, which frameworks leave on for a route that is theirs. */
function pathBelow(basePath: string): (request: Request) => string {
  const prefix = `${basePath}/`;
  return (request) => {
    const path = getPath(request);
    return path.startsWith(prefix) ? path.slice(basePath.length) : path;
  };
}
