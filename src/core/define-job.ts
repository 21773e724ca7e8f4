/** What the author of a job type writes, and the tools that a running job is handed. */

import type * as z from "zod/mini";
import { type Backoff, DEFAULT_BACKOFF } from "./backoff.js";
import { FatalError, RetryAfterError } from "./errors.js";
import { EFFECT_NAME_PATTERN, JOB_TYPE_PATTERN, type Json, MAX_ATTEMPTS_BOUNDS } from "./job.js";
import type { MissedRunPolicy, Recurrence } from "./schedule.js";

export type { Json };
// A job file needs nothing but this module: handlers throw these to steer their job.
export { FatalError, RetryAfterError };

/** Variables of the deployment's environment, as the platform gives them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** One refused place in a payload; `path` leads from the payload's root. */
export interface PayloadIssue {
  path: (string | number)[];
  message: string;
}

/** What `once` hands to an effect. */
export interface EffectContext {
  /** `<jobId>:<name>`, the same on every attempt: pass it downstream as the idempotency key. */
  operationId: string;
  /** Keeps evidence of the call with the effect, shown in the timeline; 4 KiB at most. */
  trace(evidence: Json): void;
}

export interface OnceOptions {
  /**
   * What to do when an earlier attempt started this effect and never said how it ended:
   * `run` it again (the downstream honours the operation id), or stop as a `dead_letter` for a
   * human to settle.
   */
  ifUnknown?: "run" | "dead_letter";
}

/** Writes one structured log line that carries the job's id, type and attempt. */
export type JobLog = (message: string, fields?: Record<string, Json>) => void;

/** What a handler receives. */
export interface JobContext<Payload> {
  payload: Payload;
  /** The job's id, the same on every attempt: pass it downstream as the idempotency key. */
  operationId: string;
  /** Number of this attempt, from 1. */
  attempt: number;
  /** Aborts on timeout, lost lease, cancel request and the platform's deadline. */
  signal: AbortSignal;
  /**
   * Runs an effect that must happen once, and gives the stored result on later attempts. A result
   * over 64 KiB is not stored: later attempts get null.
   */
  once<Result extends Json | void>(
    name: string,
    effect: (context: EffectContext) => Promise<Result> | Result,
    options?: OnceOptions,
  ): Promise<Result>;
  /**
   * Stores how far the job is, in 16 KiB at most; also renews the lease and brings cancel requests.
   */
  progress(value: Json): Promise<void>;
  /** Ends this attempt and comes back later without spending budget; 0 continues at once. */
  snooze(delaySeconds: number): never;
  log: JobLog;
  /** W3C trace context that the job was created under; pass it on to what you call. */
  traceparent: string | null;
  env: Environment;
  /** `fetch` that follows the platform's own guards against private networks. */
  outboundFetch: typeof fetch;
}

/** Limits that QStash keeps for all messages of the type. */
export interface FlowControl {
  parallelism?: number;
  rate?: number;
  periodSeconds?: number;
}

/** A recurrence that is part of the code: reviewed with it, applied by the sweep. */
export interface JobSchedule {
  /** Five fields: minute, hour, day of month, month, day of week. */
  cron: string;
  /** IANA name; default UTC. */
  timeZone?: string;
  /** Default `{}`; checked against the type's schema before it is applied. */
  payload?: Json;
  /** What becomes of slots that no sweep was there for; default `skip`. */
  missedRunPolicy?: MissedRunPolicy;
}

export interface JobOptions<Schema extends z.core.$ZodType, Type extends string = string> {
  type: Type;
  /** Of `zod/mini` or of `zod`. */
  payload: Schema;
  /** Job-specific refusals that a schema cannot say, since they depend on the environment. */
  refuse?: (payload: z.output<Schema>, env: Environment) => PayloadIssue[];
  dedupe?: {
    /** Derives the dedupe key; the key in a create request wins. */
    key?: (payload: z.output<Schema>) => string | undefined;
    /** When the key is free again: at the end of the job, or already at its first start. */
    until?: "finished" | "started";
  };
  maxAttempts?: number;
  timeoutSeconds?: number;
  leaseSeconds?: number;
  backoff?: Partial<Backoff>;
  flowControl?: FlowControl;
  /** `worker`: run by `npx antrean work` instead of QStash deliveries. */
  runsOn?: "qstash" | "worker";
  schedule?: JobSchedule | undefined;
  run(context: JobContext<z.output<Schema>>): Promise<Json | void> | Json | void;
}

/** A job type with every default applied; what the registry holds. */
export interface JobDefinition<
  Schema extends z.core.$ZodType = z.core.$ZodType,
  Type extends string = string,
> {
  type: Type;
  payload: Schema;
  refuse: (payload: z.output<Schema>, env: Environment) => PayloadIssue[];
  dedupeKey: (payload: z.output<Schema>) => string | undefined;
  dedupeUntil: "finished" | "started";
  maxAttempts: number;
  timeoutSeconds: number;
  leaseSeconds: number;
  backoff: Backoff;
  flowControl: FlowControl | undefined;
  runsOn: "qstash" | "worker";
  schedule?: Recurrence | undefined;
  run(context: JobContext<z.output<Schema>>): Promise<Json | void> | Json | void;
}

/** All job types of a deployment by name. */
export type Registry = ReadonlyMap<string, JobDefinition>;

const TIMEOUT_SECONDS_BOUNDS = { min: 1, max: 900, default: 60 } as const;
const LEASE_SECONDS_BOUNDS = { min: 5, max: 960 } as const;
/** A sane ceiling for waits that a type may ask for: one day, QStash's own. */
const BACKOFF_SECONDS_MAX = 86_400;
/** QStash's own bound, a week: it would refuse every message of the type. */
const FLOW_PERIOD_SECONDS_MAX = 7 * 86_400;

/**
 * Declares a job type: checks its settings and applies the defaults.
 *
 * Errors: throws `TypeError` naming the type and the faulty setting, at start-up.
 */
export function defineJob<Schema extends z.core.$ZodType, const Type extends string = string>(
  options: JobOptions<Schema, Type>,
): JobDefinition<Schema, Type> {
  const { type } = options;
  if (!JOB_TYPE_PATTERN.test(type)) {
    throw new TypeError(`Job type "${type}" must match ${JOB_TYPE_PATTERN.source}.`);
  }
  const integer = (name: string, value: number, min: number, max: number): number => {
    if (Number.isInteger(value) && value >= min && value <= max) return value;
    throw new TypeError(`Job type "${type}": ${name} must be an integer from ${min} to ${max}.`);
  };
  const timeoutSeconds = integer(
    "timeoutSeconds",
    options.timeoutSeconds ?? TIMEOUT_SECONDS_BOUNDS.default,
    TIMEOUT_SECONDS_BOUNDS.min,
    TIMEOUT_SECONDS_BOUNDS.max,
  );
  return {
    type,
    payload: options.payload,
    refuse: options.refuse ?? (() => []),
    dedupeKey: options.dedupe?.key ?? (() => undefined),
    dedupeUntil: options.dedupe?.until ?? "finished",
    maxAttempts: integer(
      "maxAttempts",
      options.maxAttempts ?? MAX_ATTEMPTS_BOUNDS.default,
      MAX_ATTEMPTS_BOUNDS.min,
      MAX_ATTEMPTS_BOUNDS.max,
    ),
    timeoutSeconds,
    leaseSeconds: integer(
      "leaseSeconds",
      options.leaseSeconds ?? Math.max(60, timeoutSeconds + 30),
      LEASE_SECONDS_BOUNDS.min,
      LEASE_SECONDS_BOUNDS.max,
    ),
    backoff: checkedBackoff(type, { ...DEFAULT_BACKOFF, ...options.backoff }),
    flowControl: options.flowControl && checkedFlowControl(type, options.flowControl),
    runsOn: options.runsOn ?? "qstash",
    schedule: options.schedule && {
      cron: options.schedule.cron,
      timeZone: options.schedule.timeZone ?? "UTC",
      type,
      payload: options.schedule.payload ?? {},
      missedRunPolicy: options.schedule.missedRunPolicy ?? "skip",
    },
    run: options.run,
  };
}

function checkedBackoff(type: string, backoff: Backoff): Backoff {
  for (const [name, seconds] of Object.entries(backoff)) {
    const min = name === "jitterSeconds" ? 0 : 1;
    if (Number.isFinite(seconds) && seconds >= min && seconds <= BACKOFF_SECONDS_MAX) continue;
    throw new TypeError(
      `Job type "${type}": backoff.${name} must be from ${min} to ${BACKOFF_SECONDS_MAX}.`,
    );
  }
  return backoff;
}

function checkedFlowControl(type: string, limits: FlowControl): FlowControl {
  const { parallelism, rate, periodSeconds } = limits;
  if (parallelism === undefined && rate === undefined) {
    throw new TypeError(`Job type "${type}": flowControl must set parallelism or rate.`);
  }
  for (const [name, value] of Object.entries({ parallelism, rate, periodSeconds })) {
    if (value === undefined || (Number.isSafeInteger(value) && value >= 1)) continue;
    throw new TypeError(`Job type "${type}": flowControl.${name} must be a positive integer.`);
  }
  if (periodSeconds !== undefined && periodSeconds > FLOW_PERIOD_SECONDS_MAX) {
    throw new TypeError(
      `Job type "${type}": flowControl.periodSeconds must be at most ${FLOW_PERIOD_SECONDS_MAX}.`,
    );
  }
  return limits;
}

/** Throws a `FatalError` for a name that the ledger cannot keep. */
export function checkEffectName(name: string): void {
  if (EFFECT_NAME_PATTERN.test(name)) return;
  throw new FatalError(`effect name "${name}" must match ${EFFECT_NAME_PATTERN.source}`);
}
