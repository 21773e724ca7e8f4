/**
 * What the engine needs from the outside world: a store, a trigger, timers and a log.
 *
 * Every `Store` method is one statement or one fixed batch and can be repeated when its answer was
 * lost (I5); ids and lock tokens are made by the caller.
 */

import type { ActivityStore } from "./activity.js";
import type {
  ClaimedAttempt,
  ClaimOutcome,
  ClaimRequest,
  EffectBegin,
  EffectEnd,
  EffectRef,
  FinishOutcome,
  FinishRequest,
  HeartbeatOutcome,
} from "./attempt.js";
import type { Environment, Registry } from "./define-job.js";
import type { Job, Json, Wakeup } from "./job.js";
import type { JobFilter, JobPage, PageRequest, Stats, Timeline } from "./listing.js";
import type { Log } from "./log-events.js";
import type { MonitoringStore, SendAlert } from "./monitoring.js";
import type {
  Actor,
  BulkReplay,
  CancelOutcome,
  OperatorAction,
  ReplayFilter,
  ReplayOutcome,
  RunNowOutcome,
  Settlement,
  SettleOutcome,
  TypeState,
} from "./operations.js";
import type {
  DueSchedules,
  NewSchedule,
  Recurrence,
  RunScheduleOutcome,
  Schedule,
  ScheduleChange,
  ScheduleChangeOutcome,
  ScheduledType,
  ScheduleRef,
  SlotPlan,
} from "./schedule.js";
import type { SweepStore, SweepType } from "./sweep.js";

/** The store cannot be reached, or did not answer in time; nothing is known about the outcome. */
export class StoreUnavailableError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "StoreUnavailableError";
  }
}

/** A request was larger than the store takes; nothing was done, and no repeat helps. */
export class StoreRequestTooLargeError extends Error {
  constructor(options?: { cause?: unknown }) {
    super("the request is larger than the database takes", options);
    this.name = "StoreRequestTooLargeError";
  }
}

/** The trigger did not take a message, or its answer was lost. */
export class PublishFailedError extends Error {
  /** For logs: `status_400`, `timeout`, `unreachable`. */
  readonly reason: string;
  /** The trigger refuses this very message, and would again; other messages may go through. */
  readonly refused: boolean;
  constructor(
    message: string,
    options: { cause?: unknown; reason?: string; refused?: boolean } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = "PublishFailedError";
    this.reason = options.reason ?? "unknown";
    this.refused = options.refused ?? false;
  }
}

/** A message that was not published, and why; see `PublishFailedError`. */
export interface UnpublishedMessage {
  wakeup: Wakeup;
  reason: string;
  refused: boolean;
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

/** A statement for a client of the caller's own: text with $1, $2 … and its parameters. */
export interface SqlStatement {
  text: string;
  params: unknown[];
}

/** What the readiness probe reads in one statement. */
export interface StoreHealth {
  migration: string | null;
  sweepAgeSeconds: number | null;
  workWaiting: boolean;
}

/** Everything that Postgres does for the engine; one method per statement. */
export interface Store extends MonitoringStore, ActivityStore, SweepStore {
  create(request: IdempotentRequest, jobs: NewJob[], shape: ResponseShape): Promise<CreateOutcome>;
  /** Looks up a stored response, for requests that today's schema would refuse. */
  findReplay(
    request: Pick<IdempotentRequest, "tenant" | "operation" | "idempotencyKey" | "requestHash">,
  ): Promise<CreateOutcome | null>;
  read(jobId: string, actor: Actor): Promise<Job | null>;
  /** Creates a job without a request, not published yet. */
  enqueue(tenant: string, job: NewJob): Promise<{ jobId: string; created: boolean }>;
  enqueueStatement(tenant: string, job: NewJob): SqlStatement;
  listJobs(filter: JobFilter, actor: Actor, page: PageRequest): Promise<JobPage>;
  /** Gives the newest items; null for an id that the actor may not see. */
  readTimeline(jobId: string, actor: Actor, itemsMax: number): Promise<Timeline | null>;
  readStats(actor: Actor, countMax: number): Promise<Stats>;
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
  createSchedule(schedule: NewSchedule): Promise<Schedule | null>;
  /** By name; null for all. */
  readSchedules(actor: Actor, ref: ScheduleRef | null, limit: number): Promise<Schedule[]>;
  changeSchedule(
    ref: ScheduleRef,
    change: ScheduleChange,
    action: OperatorAction,
  ): Promise<ScheduleChangeOutcome>;
  runSchedule(
    ref: ScheduleRef,
    jobId: string,
    types: ScheduledType[],
    action: OperatorAction,
  ): Promise<RunScheduleOutcome>;
  dueSchedules(declared: Recurrence[], aheadSeconds: number, limit: number): Promise<DueSchedules>;
  /** Makes the store's declared schedules those of the deployment. */
  applyDeclared(declared: (Recurrence & { id: string })[], limit: number): Promise<void>;
  makeSlots(plans: SlotPlan[], types: ScheduledType[]): Promise<Wakeup[]>;
  health(): Promise<StoreHealth>;
}

/** Publishes wake-up messages. */
export interface Trigger {
  /** Throws `PublishFailedError`; a repeat with the same seq is the same message. */
  publish(wakeup: Wakeup): Promise<void>;
  /** A hop: the delay is relative, since the carrier's clock may be the fast one. */
  publishAfter(wakeup: Wakeup, delaySeconds: number): Promise<void>;
  /** Gives the messages that were not taken; 100 travel in one call, and are refused together. */
  publishMany(wakeups: Wakeup[]): Promise<{ failed: UnpublishedMessage[]; calls: number }>;
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
  /** Undefined where no webhook is set; incidents are then only written down. */
  sendAlert?: SendAlert | undefined;
  /** Lets work go on after the answer, where the platform offers that. */
  waitUntil: ((work: Promise<unknown>) => void) | undefined;
}

/** What only one request can give; the platform hands in the last member as Hono's `env`. */
export interface RequestPlatform {
  requestId?: string;
  traceparent?: string;
  waitUntil?: ((work: Promise<unknown>) => void) | undefined;
}
