/**
 * What the engine needs from the outside world: a store, a trigger, timers and a log.
 *
 * Every `Store` method is one statement or one fixed batch and can be repeated when its answer was
 * lost (I5); ids and lock tokens are made by the caller.
 */

import type { Environment, Registry } from "./define-job.js";
import type { Job, JobStatus, Json, Wakeup } from "./job.js";

/** Who acts: `tenant` null sees every tenant (admin); `keyName` is written into events. */
export interface Actor {
  tenant: string | null;
  keyName: string;
}

/** The store cannot be reached, or did not answer in time; nothing is known about the outcome. */
export class StoreUnavailableError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "StoreUnavailableError";
  }
}

/** The trigger did not take a message, or its answer was lost. */
export class PublishFailedError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "PublishFailedError";
  }
}

/** A job to insert, every default applied. */
export interface NewJob {
  id: string;
  type: string;
  payload: Json;
  priority: number;
  maxAttempts: number;
  /** RFC 3339 instant, or null for "as `delaySeconds` says". */
  runAt: string | null;
  delaySeconds: number;
  dedupeKey: string | null;
  dedupeUntil: "finished" | "started";
  /** False for types that are never published (`runsOn: "worker"`). */
  publish: boolean;
  traceparent: string | null;
}

/** The request that a stored response belongs to. */
export interface IdempotentRequest {
  tenant: string;
  operation: string;
  idempotencyKey: string;
  requestHash: string;
  /** Made by the caller for this one request, so that a repeated statement finds its own record. */
  owner: string;
  ttlHours: number;
}

/** How the response of a create is put together once the store knows which job each item got. */
export interface ResponseShape {
  prefix: string;
  suffix: string;
  /** One JSON text per new job, by position. */
  fresh: string[];
  /** JSON text for a dedupe hit with the placeholders `{id}` and `{status}`. */
  deduplicated: string;
  status: number;
}

export type CreateOutcome =
  | { kind: "created"; status: number; body: string; wakeups: Wakeup[] }
  | { kind: "replayed"; status: number; body: string }
  | { kind: "key_reused" }
  /** The active job with this dedupe key is being cancelled; nothing was written. */
  | { kind: "dedupe_job_cancelling" };

/** What a delivery asks of the claim (section "What a delivery may claim" of the architecture). */
export interface ClaimRequest {
  jobId: string;
  type: string;
  seq: number;
  lockToken: string;
  /** `Upstash-Message-Id`; chooses only among answers that are safe anyway. */
  messageId: string | null;
  /** A message whose job does not exist may still run another job of its type. */
  unknownIsPermit: boolean;
  /** Lease by type in seconds; a type that is missing gets the default. */
  leases: Readonly<Record<string, number>>;
}

/** An attempt that holds its job's lock token. */
export interface ClaimedAttempt {
  jobId: string;
  tenant: string;
  type: string;
  payload: Json;
  lockToken: string;
  attempt: number;
  /** Attempts of the present budget that count, this one included. */
  budgetUsed: number;
  maxAttempts: number;
  triggerSeq: number;
  leaseSeconds: number;
  cancelRequested: boolean;
  /** Seconds between due time and claim. */
  waitedSeconds: number;
  traceparent: string | null;
}

export type ClaimOutcome =
  | { kind: "claimed"; attempt: ClaimedAttempt; repeated: boolean }
  /** The lease had expired and the job ended instead of running again. */
  | { kind: "ended"; jobId: string; status: "dead_letter" | "cancelled" }
  | { kind: "not_due"; waitSeconds: number; wakeup: Wakeup }
  | { kind: "running_own"; leaseSecondsLeft: number }
  | { kind: "noop"; reason: "finished" | "running" | "recorded" | "paused" | "nothing_due" }
  /** A due job's row is locked at this moment; `named` when it is the one the delivery names. */
  | { kind: "locked"; named: boolean }
  | { kind: "unknown" };

/** How an attempt ended, as the engine reports it. */
export type AttemptReport =
  | { kind: "completed"; result: Json; resultOmitted: string | null }
  | { kind: "retry"; delaySeconds: number; code: string; message: string }
  | { kind: "fatal"; code: string; message: string }
  | { kind: "snooze"; delaySeconds: number }
  | { kind: "unknown_type"; delaySeconds: number };

export interface FinishRequest {
  jobId: string;
  lockToken: string;
  attempt: number;
  report: AttemptReport;
  /** False for types that are never published (`runsOn: "worker"`). */
  publish: boolean;
}

export type FinishOutcome =
  | { kind: "recorded"; status: JobStatus; wakeup: Wakeup | null }
  /** Somebody else took the lease; the result is kept as the lost attempt's late outcome. */
  | { kind: "lease_lost" }
  | { kind: "gone" };

export type HeartbeatOutcome =
  | { kind: "extended"; cancelRequested: boolean }
  | { kind: "lease_lost" };

export type EffectBegin =
  | { kind: "run" }
  | { kind: "done"; result: Json }
  | { kind: "unknown" }
  | { kind: "cancelled" }
  | { kind: "lease_lost" };

export interface EffectRef {
  jobId: string;
  lockToken: string;
  name: string;
}

export type EffectEnd =
  | { kind: "done"; result: Json; trace: Json }
  | { kind: "not_done"; trace: Json }
  | { kind: "unknown"; trace: Json };

export type CancelOutcome =
  | { kind: "cancelled" | "requested"; job: Job }
  | { kind: "not_cancellable"; job: Job }
  | { kind: "not_found" };

export interface OperatorAction {
  /** Made by the caller, so that a repeated statement finds its own action. */
  actionId: string;
  actor: Actor;
  reason: string | null;
}

export type ReplayOutcome =
  | { kind: "replayed"; job: Job; wakeup: Wakeup | null }
  | { kind: "not_replayable"; job: Job }
  | { kind: "dedupe_conflict"; activeJobId: string }
  | { kind: "not_found" };

export type RunNowOutcome =
  | { kind: "moved"; job: Job; wakeup: Wakeup | null }
  | { kind: "not_waiting"; job: Job }
  | { kind: "not_found" };

export interface ReplayFilter {
  type?: string;
  errorCode?: string;
  createdAfter?: string;
  createdBefore?: string;
  limit: number;
  spreadSeconds: number;
}

export interface BulkReplay {
  matched: number;
  replayed: number;
  skipped: number;
  /** The jobs to publish at once; the rest is left to the next sweeps. */
  wakeups: Wakeup[];
}

export type Settlement = { outcome: "done"; result: Json } | { outcome: "not_done" };
export type SettleOutcome = { kind: "settled" } | { kind: "not_unknown" } | { kind: "not_found" };

/** What the sweep must know of each registered type. */
export interface SweepType {
  type: string;
  publish: boolean;
  leaseSeconds: number;
  /** Delay by number of attempts used, without jitter; see `delayTable`. */
  delays: number[];
  jitterSeconds: number;
}

export interface RecoveredLeases {
  failed: number;
  deadLettered: number;
  cancelled: number;
  wakeups: Wakeup[];
}

/** What the readiness probe reads in one statement. */
export interface StoreHealth {
  migration: string | null;
  sweepAgeSeconds: number | null;
  workWaiting: boolean;
}

export interface TypeState {
  type: string;
  pausedAt: string | null;
  pausedBy: string | null;
  pauseReason: string | null;
}

/** Everything that Postgres does for the engine; one method per statement. */
export interface Store {
  create(request: IdempotentRequest, jobs: NewJob[], shape: ResponseShape): Promise<CreateOutcome>;
  /** Looks up a stored response, for requests that today's schema would refuse. */
  findReplay(
    request: Pick<IdempotentRequest, "tenant" | "operation" | "idempotencyKey" | "requestHash">,
  ): Promise<CreateOutcome | null>;
  read(jobId: string, actor: Actor): Promise<Job | null>;
  claim(request: ClaimRequest): Promise<ClaimOutcome>;
  /** Takes one due job of the types, for a sweep or a worker. */
  claimDue(types: SweepType[], lockToken: string): Promise<ClaimedAttempt | null>;
  heartbeat(
    attempt: Pick<ClaimedAttempt, "jobId" | "lockToken" | "leaseSeconds">,
    progress: Json | undefined,
  ): Promise<HeartbeatOutcome>;
  finish(request: FinishRequest): Promise<FinishOutcome>;
  beginEffect(effect: EffectRef, rerunUnknown: boolean): Promise<EffectBegin>;
  /** False when another attempt has started the effect since. */
  endEffect(effect: EffectRef, end: EffectEnd): Promise<boolean>;
  cancel(jobId: string, action: OperatorAction): Promise<CancelOutcome>;
  replay(
    jobId: string,
    action: OperatorAction,
    options: { payload?: Json; unpublishedTypes: string[] },
  ): Promise<ReplayOutcome>;
  runNow(
    jobId: string,
    action: OperatorAction,
    options: { unpublishedTypes: string[] },
  ): Promise<RunNowOutcome>;
  replayMany(
    filter: ReplayFilter,
    action: OperatorAction,
    options: { publishMax: number; unpublishedTypes: string[] },
  ): Promise<BulkReplay>;
  countReplayable(
    filter: ReplayFilter,
    actor: Actor,
  ): Promise<{ matched: number; skipped: number }>;
  settleEffect(
    jobId: string,
    name: string,
    settlement: Settlement,
    action: OperatorAction,
  ): Promise<SettleOutcome>;
  /** A delivery came before the job's time and its next message is published: raises the seq. */
  markHopped(jobId: string, seq: number): Promise<void>;
  /** Takes back the mark "published" of messages that failed; only where the seq is still theirs. */
  markUnpublished(wakeups: Pick<Wakeup, "jobId" | "seq">[]): Promise<void>;
  setTypePaused(type: string, paused: boolean, action: OperatorAction): Promise<TypeState>;
  listTypeStates(): Promise<TypeState[]>;
  recoverLeases(types: SweepType[], limit: number): Promise<RecoveredLeases>;
  takeUnpublished(unpublishedTypes: string[], limit: number): Promise<Wakeup[]>;
  probeSilentTypes(unpublishedTypes: string[], limit: number): Promise<Wakeup[]>;
  takeVanished(unpublishedTypes: string[], limit: number): Promise<Wakeup[]>;
  purgeIdempotencyRecords(limit: number): Promise<number>;
  pruneJobs(
    retention: { finishedDays: number; deadLetterDays: number },
    limit: number,
  ): Promise<number>;
  recordSweep(): Promise<void>;
  health(): Promise<StoreHealth>;
}

/** Publishes wake-up messages. */
export interface Trigger {
  /** Throws `PublishFailedError`; a repeat with the same seq is the same message. */
  publish(wakeup: Wakeup): Promise<void>;
  /** A hop: the delay is relative, since the carrier's clock may be the fast one. */
  publishAfter(wakeup: Wakeup, delaySeconds: number): Promise<void>;
  /** Gives the wakeups that were not taken; 100 messages travel in one call. */
  publishMany(wakeups: Wakeup[]): Promise<{ failed: Wakeup[]; calls: number }>;
}

/** Timers; tests drive them by hand. */
export interface Timers {
  /** Resolves after the time, or early when the signal aborts. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

/** Sources that core must not have. */
export interface Entropy {
  /** A new UUIDv7; its time part is never used for an order or a decision (I4). */
  newId(): string;
  /** A number in [0, 1). */
  random(): number;
}

/** The closed list of log events. */
export const LOG_EVENTS = [
  "request_handled",
  "request_failed",
  "job_created",
  "job_cancelled",
  "job_replayed",
  "effect_settled",
  "type_paused",
  "type_resumed",
  "publish_failed",
  "delivery_rejected",
  "delivery_refused",
  "attempt_claimed",
  "attempt_finished",
  "attempt_lease_lost",
  "attempt_cancel_seen",
  "heartbeat_failed",
  "result_omitted",
  "handler_log",
  "sweep_finished",
  "sweep_step_failed",
] as const;
export type LogEvent = (typeof LOG_EVENTS)[number];

/** Writes one structured line; fields never hold payloads, secrets, signatures or queries. */
export type Log = (
  event: LogEvent,
  fields: Record<string, string | number | boolean | null | undefined>,
) => void;

/** Bounds and periods that a deployment sets. */
export interface EngineSettings {
  /** Without a trailing slash; where QStash and clients reach this deployment. */
  publicUrl: string;
  idempotencyTtlHours: number;
  /** The platform's longest invocation. */
  maxRunSeconds: number;
  sweepMaxSeconds: number;
  /** Database and QStash calls of one sweep. */
  sweepMaxCalls: number;
  sweepIntervalSeconds: number;
  retentionDays: number;
  deadLetterRetentionDays: number;
}

/** Everything that a verb of the engine works with; made for one request. */
export interface Ports {
  store: Store;
  trigger: Trigger;
  timers: Timers;
  entropy: Entropy;
  log: Log;
  registry: Registry;
  settings: EngineSettings;
  env: Environment;
  outboundFetch: typeof fetch;
  /** Lets work go on after the answer, where the platform offers that. */
  waitUntil: ((work: Promise<unknown>) => void) | undefined;
}
