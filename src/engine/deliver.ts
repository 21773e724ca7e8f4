/** Serves one verified delivery: claim → run → finish → publish the next message. */

import type { ClaimOutcome, ClaimRequest } from "../core/attempt.js";
import type { Ports } from "../core/ports.js";
import { PublishFailedError, StoreUnavailableError } from "../core/ports.js";
import { type ExecutedOutcome, execute } from "./execute.js";

/** A verified message and the two headers that choose among safe answers. */
export interface Delivery {
  jobId: string;
  type: string;
  seq: number;
  messageId: string | null;
  /** `Upstash-Retried`: 0 at the first try. */
  retried: number;
}

/** What QStash is told; the route turns it into a response. */
export type DeliveryAnswer =
  | { kind: "ran"; outcome: ExecutedOutcome; jobId: string; ranJobId: string }
  | { kind: "hopped" }
  | {
      kind: "noop";
      reason: "finished" | "running" | "recorded" | "paused" | "lease_lost" | "nothing_due";
    }
  | { kind: "retry"; code: RetryCode; retryAfterSeconds: number }
  | { kind: "rejected"; code: "job_unknown" };

type RetryCode =
  | "job_running"
  | "job_locked"
  | "job_unknown"
  | "publish_failed"
  | "store_unavailable";

/** Job backoff lives in Postgres; these waits bridge a database that does not answer. */
const OUTAGE_RETRY_AFTER_SECONDS = [15, 120, 900];
/** A first delivery may be faster than the commit of its job becomes visible. */
const UNKNOWN_JOB_RETRY_AFTER_SECONDS = 10;
/** A job due within this time is waited for: a bounce through QStash would take longer. */
const WAIT_FOR_DUE_SECONDS_MAX = 2;
const WAIT_FOR_DUE_TRIES_MAX = 3;
const LOCKED_WAITS_MS = [100, 400, 900];
/** QStash's free plan delays at most 7 days; an hour less leaves room for its clock. */
export const HOP_SECONDS_MAX = 6 * 86_400 + 23 * 3600;
/** QStash ignores a Retry-After beyond a day. */
const RETRY_AFTER_SECONDS_MAX = 86_400;

/**
 * Serves a delivery to its end; every refusal to run is an answer, not an error.
 *
 * Errors: none for an unreachable database, which is answered too; anything else is a bug.
 */
export async function deliver(ports: Ports, delivery: Delivery): Promise<DeliveryAnswer> {
  try {
    const claimed = await claimFor(ports, delivery);
    if (claimed.kind !== "claimed") return await answerWithoutRun(ports, delivery, claimed);
    const executed = await execute(ports, claimed.attempt, ports.settings.maxRunSeconds, {
      namedJobId: delivery.jobId,
    });
    if (executed === "lease_lost") return { kind: "noop", reason: "lease_lost" };
    const { jobId } = delivery;
    return { kind: "ran", outcome: executed, jobId, ranJobId: claimed.attempt.jobId };
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    const retryAfterSeconds =
      OUTAGE_RETRY_AFTER_SECONDS[delivery.retried] ?? OUTAGE_RETRY_AFTER_SECONDS.at(-1) ?? 900;
    return { kind: "retry", code: "store_unavailable", retryAfterSeconds };
  }
}

/** Claims, waiting for a job that is due in a moment and repeating for a row that is locked. */
async function claimFor(ports: Ports, delivery: Delivery): Promise<ClaimOutcome> {
  const request: ClaimRequest = {
    jobId: delivery.jobId,
    type: delivery.type,
    seq: delivery.seq,
    lockToken: ports.entropy.newId(),
    messageId: delivery.messageId,
    unknownIsPermit: delivery.retried > 0 && ports.registry.has(delivery.type),
    leases: leasesOf(ports),
  };
  let waits = 0;
  let locks = 0;
  for (;;) {
    const outcome = await ports.store.claim(request);
    if (
      outcome.kind === "not_due" &&
      outcome.waitSeconds <= WAIT_FOR_DUE_SECONDS_MAX &&
      waits < WAIT_FOR_DUE_TRIES_MAX
    ) {
      waits += 1;
      await ports.timers.sleep(Math.max(0, outcome.waitSeconds) * 1000 + 1);
    } else if (outcome.kind === "locked" && locks < LOCKED_WAITS_MS.length) {
      await ports.timers.sleep(LOCKED_WAITS_MS[locks] ?? 0);
      locks += 1;
    } else return outcome;
  }
}

async function answerWithoutRun(
  ports: Ports,
  delivery: Delivery,
  outcome: Exclude<ClaimOutcome, { kind: "claimed" }>,
): Promise<DeliveryAnswer> {
  const { jobId } = delivery;
  switch (outcome.kind) {
    case "noop":
      ports.log("delivery_refused", { jobId, type: delivery.type, reason: outcome.reason });
      return outcome;
    case "ended": {
      const ended = outcome.status === "dead_letter" ? "dead_lettered" : "cancelled";
      ports.log("attempt_finished", { jobId: outcome.jobId, type: delivery.type, outcome: ended });
      return { kind: "ran", outcome: ended, jobId, ranJobId: outcome.jobId };
    }
    case "running_own": {
      const jitterSeconds = 1 + 2 * ports.entropy.random();
      const retryAfterSeconds = Math.ceil(Math.max(0, outcome.leaseSecondsLeft) + jitterSeconds);
      return { kind: "retry", code: "job_running", retryAfterSeconds };
    }
    case "locked":
      if (!outcome.named) return { kind: "noop", reason: "nothing_due" };
      return {
        kind: "retry",
        code: "job_locked",
        retryAfterSeconds: 1 + Math.floor(5 * ports.entropy.random()),
      };
    case "unknown":
      // A repeated delivery for a job that is still not there will never find it.
      return delivery.retried === 0
        ? { kind: "retry", code: "job_unknown", retryAfterSeconds: UNKNOWN_JOB_RETRY_AFTER_SECONDS }
        : { kind: "rejected", code: "job_unknown" };
    case "not_due":
      return hop(ports, delivery, outcome);
  }
}

/** Publishes the next message of a job that is not due yet; relative, for clocks may differ. */
async function hop(
  ports: Ports,
  delivery: Delivery,
  { waitSeconds, wakeup }: Extract<ClaimOutcome, { kind: "not_due" }>,
): Promise<DeliveryAnswer> {
  const delaySeconds = Math.min(HOP_SECONDS_MAX, Math.max(1, Math.ceil(waitSeconds)));
  try {
    await ports.trigger.publishAfter({ ...wakeup, seq: delivery.seq + 1 }, delaySeconds);
  } catch (error) {
    if (!(error instanceof PublishFailedError)) throw error;
    const retryAfterSeconds = Math.min(RETRY_AFTER_SECONDS_MAX, delaySeconds);
    return { kind: "retry", code: "publish_failed", retryAfterSeconds };
  }
  await ports.store.markHopped(delivery.jobId, delivery.seq);
  return { kind: "hopped" };
}

function leasesOf(ports: Ports): Record<string, number> {
  return Object.fromEntries(
    [...ports.registry].map(([type, { leaseSeconds }]) => [type, leaseSeconds]),
  );
}
