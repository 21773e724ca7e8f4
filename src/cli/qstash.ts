/**
 * QStash's REST API, as far as an operator needs it: whether the credentials fit, and the sweep's
 * schedule. Publishing is `trigger`'s, with QStash's own client.
 *
 * Source: https://upstash.com/docs/qstash/api-reference
 */

import type { Config } from "../config.js";
import { FailedError, type Io } from "./io.js";

export interface SweepSchedule {
  scheduleId: string;
  cron: string;
  destination: string;
  isPaused?: boolean;
}

/** QStash answered something else than what was asked for. */
export class QstashError extends Error {
  override readonly name = "QstashError";
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface Qstash {
  /** The signing keys of the token's account. */
  keys(): Promise<{ current: string; next: string }>;
  /** The schedule that `setup` makes; undefined when there is none. */
  sweepSchedule(): Promise<SweepSchedule | undefined>;
  /** Every schedule of the account, those of other applications included. */
  schedules(): Promise<SweepSchedule[]>;
  /** A schedule that is gone already is no fault. */
  deleteSchedule(scheduleId: string): Promise<void>;
  /** Makes the schedule, or replaces it as a whole: one id, so never a second one. */
  putSweepSchedule(cron: string): Promise<string>;
  resumeSweepSchedule(): Promise<void>;
  /** Sends this body to our processor once, signed; gives the message's id. */
  publishProbe(body: unknown): Promise<string>;
  /** The message, if its delivery failed for good. */
  deadLetter(messageId: string): Promise<DeadLetter | undefined>;
  deleteDeadLetter(dlqId: string): Promise<void>;
}

export interface DeadLetter {
  dlqId: string;
  /** What our processor answered; absent when nobody did. */
  responseStatus?: number;
}

interface Sent {
  headers?: Record<string, string>;
  body?: string;
}

const TIMEOUT_MS = 10_000;
/** QStash gives up on a sweep later than the sweep itself. */
const TIMEOUT_MARGIN_SECONDS = 15;

/** Makes the calls; `QstashError` for a refusal, `FailedError` when nobody answers. */
export function createQstash(config: Config, { fetch, stop }: Io): Qstash {
  const call = async (method: string, path: string, { headers, body }: Sent = {}) => {
    const signal = AbortSignal.any([stop, AbortSignal.timeout(TIMEOUT_MS)]);
    const authorization = `Bearer ${config.qstashToken}`;
    const init = { method, signal, headers: { ...headers, authorization }, body };
    const request = new Request(`${config.qstashUrl}${path}`, init);
    const response = await fetch(request).catch((error: unknown) => {
      throw new FailedError(`QSTASH_URL does not answer: ${String(error)}`);
    });
    const text = await response.text();
    if (!response.ok) throw new QstashError(response.status, text.slice(0, 300));
    return text === "" ? undefined : (JSON.parse(text) as unknown);
  };
  const id = sweepScheduleId(config.appName);
  return {
    keys: async () => (await call("GET", "/v2/keys")) as { current: string; next: string },
    async sweepSchedule() {
      return (await ifThere(call("GET", `/v2/schedules/${id}`))) as SweepSchedule | undefined;
    },
    schedules: async () => (await call("GET", "/v2/schedules")) as SweepSchedule[],
    deleteSchedule: async (scheduleId) =>
      void (await ifThere(call("DELETE", `/v2/schedules/${encodeURIComponent(scheduleId)}`))),
    async putSweepSchedule(cron) {
      const headers = scheduleHeaders(config, id, cron);
      await call("POST", `/v2/schedules/${sweepUrl(config)}`, { headers });
      return id;
    },
    resumeSweepSchedule: async () => void (await call("PATCH", `/v2/schedules/${id}/resume`)),
    async publishProbe(body) {
      const path = `/v2/publish/${config.publicUrl}/api/process`;
      const sent = { headers: probeHeaders(config), body: JSON.stringify(body) };
      return ((await call("POST", path, sent)) as { messageId: string }).messageId;
    },
    async deadLetter(messageId) {
      const path = `/v2/dlq?${new URLSearchParams({ messageId })}`;
      return ((await call("GET", path)) as { messages: DeadLetter[] }).messages[0];
    },
    deleteDeadLetter: async (dlqId) => void (await call("DELETE", `/v2/dlq/${dlqId}`)),
  };
}

/** Undefined where QStash says that there is no such thing. */
async function ifThere(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof QstashError && error.status === 404) return undefined;
    throw error;
  }
}

/** Where the schedule leads. */
export function sweepUrl({ publicUrl }: Config): string {
  return `${publicUrl}/api/sweep`;
}

/** What the ids of all schedules begin with that `setup` makes. */
export const SWEEP_SCHEDULE_PREFIX = "antrean-sweep-";

/** Of this application: several may share an account. QStash takes few characters in ids. */
export function sweepScheduleId(appName: string): string {
  return `${SWEEP_SCHEDULE_PREFIX}${appName.replace(/[^A-Za-z0-9_-]/g, "-")}`;
}

function scheduleHeaders(config: Config, id: string, cron: string): Record<string, string> {
  return {
    "Upstash-Schedule-Id": id,
    "Upstash-Cron": cron,
    "Upstash-Method": "POST",
    // The next sweep is the repetition.
    "Upstash-Retries": "0",
    "Upstash-Timeout": `${config.sweepMaxSeconds + TIMEOUT_MARGIN_SECONDS}s`,
    ...bypassHeader(config),
  };
}

function probeHeaders(config: Config): Record<string, string> {
  return {
    "Content-Type": "application/json",
    "Upstash-Retries": "0",
    "Upstash-Timeout": `${TIMEOUT_MARGIN_SECONDS}s`,
    ...bypassHeader(config),
  };
}

function bypassHeader({ protectionBypass }: Config): Record<string, string> {
  return protectionBypass ? { "Upstash-Forward-x-vercel-protection-bypass": protectionBypass } : {};
}
