/** Publishes wake-up messages with the QStash client. */

import { Client, type PublishRequest } from "@upstash/qstash";
import type { Registry } from "../core/define-job.js";
import type { Wakeup } from "../core/job.js";
import type { Message } from "../core/message.js";
import { PublishFailedError, type Trigger, type UnpublishedMessage } from "../core/ports.js";
import { sendQuietly } from "./send-quietly.js";
import { NoAnswerError, withinLimit } from "./within-limit.js";

export interface PublishOptions {
  qstashUrl: string;
  qstashToken: string;
  publicUrl: string;
  appName: string;
  registry: Registry;
  /** Sent back to us by QStash, so that Vercel's deployment protection lets the delivery in. */
  protectionBypass: string | undefined;
  sleep: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
}

/** QStash's own retries are for infrastructure: 12 s, 2.5 min, 30 min. Every plan accepts 3. */
const DELIVERY_RETRIES = 3;
/** QStash gives up on a delivery later than the handler's own timeout. */
const DELIVERY_MARGIN_SECONDS = 15;
/** QStash's free plan refuses more than 7 days; what is further away is hopped. */
const NOT_BEFORE_SECONDS_MAX = 6 * 86_400 + 23 * 3600;
const DEFAULT_TIMEOUT_SECONDS = 60;
const PUBLISH_TRIES = 2;
const PUBLISH_TRY_SECONDS = 5;
export const MESSAGES_PER_BATCH = 100;

type QstashMessage = PublishRequest<Message> & { url: string };

/**
 * Makes the trigger; a repeat of one seq carries the same deduplication id, so it is one message.
 *
 * Source: https://upstash.com/docs/qstash/features/deduplication
 */
export function createTrigger(options: PublishOptions): Trigger {
  // devMode: with QSTASH_DEV set, the client would ignore this URL and token.
  const client = new Client({
    baseUrl: options.qstashUrl,
    token: options.qstashToken,
    devMode: false,
    retry: false,
    enableTelemetry: false,
  });
  client.http = sendQuietly(options);
  return {
    publish: async (wakeup) => {
      await withTries(options, () =>
        client.publishJSON(toMessage(options, wakeup, notBefore(wakeup))),
      );
    },
    publishAfter: async (wakeup, delaySeconds) => {
      await withTries(options, () =>
        client.publishJSON(toMessage(options, wakeup, { delay: delaySeconds })),
      );
    },
    publishMany: async (wakeups) => {
      const failed: UnpublishedMessage[] = [];
      let calls = 0;
      for (let at = 0; at < wakeups.length; at += MESSAGES_PER_BATCH) {
        const chunk = wakeups.slice(at, at + MESSAGES_PER_BATCH);
        calls += 1;
        try {
          // Built anew for every try: batchJSON encodes the bodies of its argument in place.
          const answers = await withTries(options, () =>
            client.batchJSON(chunk.map((each) => toMessage(options, each, notBefore(each)))),
          );
          // A batch that was taken may hold messages that were not.
          const refused = chunk.filter((_, place) => isRefusal(answers[place]));
          failed.push(
            ...refused.map((wakeup) => ({ wakeup, reason: "batch_item", refused: true })),
          );
        } catch (error) {
          if (!(error instanceof PublishFailedError)) throw error;
          const { reason, refused } = error;
          failed.push(...chunk.map((wakeup) => ({ wakeup, reason, refused })));
        }
      }
      return { failed, calls };
    },
  };
}

function toMessage(
  options: PublishOptions,
  wakeup: Wakeup,
  time: { notBefore?: number; delay?: number },
): QstashMessage {
  const definition = options.registry.get(wakeup.type);
  const headers: Record<string, string> = {};
  if (options.protectionBypass) headers["x-vercel-protection-bypass"] = options.protectionBypass;
  if (wakeup.traceparent) headers.traceparent = wakeup.traceparent;
  return {
    url: `${options.publicUrl}/api/process`,
    body: { v: 1, jobId: wakeup.jobId, type: wakeup.type, seq: wakeup.seq },
    headers,
    retries: DELIVERY_RETRIES,
    timeout: (definition?.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS) + DELIVERY_MARGIN_SECONDS,
    // QStash refuses ":" in these ids.
    deduplicationId: `${wakeup.jobId}_${wakeup.attempts}_${wakeup.seq}`,
    label: wakeup.type,
    ...(definition?.flowControl && {
      flowControl: {
        key: `${options.appName}-${wakeup.type}`.replace(/[^A-Za-z0-9._-]/g, "-"),
        ...flowLimits(definition.flowControl),
      },
    }),
    ...time,
  } as QstashMessage;
}

/** The absolute time of a later message, so that repeats of one publish are the same message. */
function notBefore({ dueInSeconds, dueAtEpochSeconds }: Wakeup): { notBefore?: number } {
  if (dueInSeconds <= 0) return {};
  const nowEpochSeconds = dueAtEpochSeconds - dueInSeconds;
  const latest = Math.floor(nowEpochSeconds + NOT_BEFORE_SECONDS_MAX);
  return { notBefore: Math.min(Math.ceil(dueAtEpochSeconds), latest) };
}

function flowLimits(limits: { parallelism?: number; rate?: number; periodSeconds?: number }) {
  return {
    ...(limits.parallelism !== undefined && { parallelism: limits.parallelism }),
    ...(limits.rate !== undefined && { rate: limits.rate }),
    ...(limits.periodSeconds !== undefined && { period: limits.periodSeconds }),
  };
}

/** Two tries within ten seconds: the client itself has no time limit and repeats no 5xx. */
async function withTries<Answer>(
  options: PublishOptions,
  call: () => Promise<Answer>,
): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await withinLimit(call(), PUBLISH_TRY_SECONDS, options.sleep);
    } catch (cause) {
      const { reason, final, refused } = diagnose(cause);
      if (tries < PUBLISH_TRIES && !final) continue;
      const message = `QStash did not take the message: ${reason}`;
      throw new PublishFailedError(message, { cause, reason, refused });
    }
  }
}

function isRefusal(answer: unknown): boolean {
  return typeof answer === "object" && answer !== null && "error" in answer;
}

/** Answers to who asks or how often, not to what was asked. */
const CALLER_STATUSES = [401, 402, 403, 408, 429];

/** What a failed try means: a refusal (4xx but 408 and 429) would only be repeated. */
function diagnose(error: unknown): { reason: string; final: boolean; refused: boolean } {
  const status = (error as { status?: unknown } | null)?.status;
  if (typeof status !== "number") {
    const reason = error instanceof NoAnswerError ? "timeout" : "unreachable";
    return { reason, final: false, refused: false };
  }
  const final = status >= 400 && status < 500 && ![408, 429].includes(status);
  return {
    reason: `status_${status}`,
    final,
    refused: final && !CALLER_STATUSES.includes(status),
  };
}
