/** Publishes wake-up messages after their commit; a failure is written down and never thrown. */

import { groupBy } from "../core/group-by.js";
import type { Wakeup } from "../core/job.js";
import { type Ports, PublishFailedError, type UnpublishedMessage } from "../core/ports.js";

/** What came of publishing some wakeups, and how many calls it took. */
export interface Published {
  failed: number;
  calls: number;
  /** Types whose messages the trigger refuses, whatever they travel with. */
  refusedTypes: string[];
  /** Some failed for another reason: the next ones may fail as well, of whatever type. */
  isOutage: boolean;
}

/** Calls that find out which types of a refused batch can be published. */
export const SEPARATE_CALLS_MAX = 10;

/**
 * Publishes the messages; those that fail are marked as not published, for the sweep.
 *
 * Shape:  messages of several types that are refused together are published type by type, within
 *         `separateCallsMax` calls: what QStash refuses for good comes from a type's settings.
 * Errors: never throws. When even the mark cannot be written, the job looks published and is found
 *         as a vanished message, ten minutes after its due time (I9).
 */
export async function publish(
  ports: Ports,
  wakeups: Wakeup[],
  separateCallsMax: number = SEPARATE_CALLS_MAX,
): Promise<Published> {
  if (wakeups.length === 0) return { failed: 0, calls: 0, refusedTypes: [], isOutage: false };
  const together = await send(ports, wakeups);
  const apart = await separate(ports, together.failed, separateCallsMax);
  const { failed, refusedTypes } = apart;
  const calls = together.calls + apart.calls;
  return {
    failed: failed.length,
    calls: calls + (failed.length > 0 ? await markFailed(ports, failed) : 0),
    refusedTypes,
    isOutage: failed.some(({ wakeup }) => !refusedTypes.includes(wakeup.type)),
  };
}

/** Publishes after the answer where the platform keeps the instance alive, else before it. */
export async function publishAfterCommit(ports: Ports, wakeups: Wakeup[]): Promise<void> {
  if (wakeups.length === 0) return;
  const work = publish(ports, wakeups);
  if (ports.waitUntil) ports.waitUntil(work);
  else await work;
}

/** Writes down that messages were not published; gives the calls that it took. */
export async function markFailed(
  ports: Ports,
  failed: Pick<UnpublishedMessage, "wakeup" | "reason">[],
): Promise<number> {
  const error = await ports.store.markUnpublished(failed.map(({ wakeup }) => wakeup)).then(
    () => undefined,
    (thrown: unknown) => String(thrown),
  );
  const alike = groupBy(failed, ({ wakeup, reason }) => `${reason} ${wakeup.type}`);
  for (const messages of alike.values()) {
    ports.log("publish_failed", {
      count: messages.length,
      recorded: error === undefined,
      jobId: messages[0]?.wakeup.jobId,
      type: messages[0]?.wakeup.type,
      cause: messages[0]?.reason,
      error,
    });
  }
  return 1;
}

/** Messages that leave at once, and how many a second follow: the target sees a spread, no herd. */
const BURST_MESSAGES = 100;
const SPREAD_MESSAGES_PER_SECOND = 20;

/** Delays all but the first of many messages that a sweep publishes, `sentBefore` of them before. */
export function spread(wakeups: Wakeup[], sentBefore = 0): Wakeup[] {
  return wakeups.map((wakeup, at) => {
    const place = sentBefore + at + 1;
    const delaySeconds = Math.max(0, place - BURST_MESSAGES) / SPREAD_MESSAGES_PER_SECOND;
    if (delaySeconds <= Math.max(0, wakeup.dueInSeconds)) return wakeup;
    const nowEpochSeconds = wakeup.dueAtEpochSeconds - wakeup.dueInSeconds;
    return {
      ...wakeup,
      dueInSeconds: delaySeconds,
      dueAtEpochSeconds: nowEpochSeconds + delaySeconds,
    };
  });
}

async function send(
  ports: Ports,
  wakeups: Wakeup[],
): Promise<{ failed: UnpublishedMessage[]; calls: number }> {
  const [only] = wakeups;
  if (!only || wakeups.length > 1) return ports.trigger.publishMany(wakeups);
  try {
    await ports.trigger.publish(only);
    return { failed: [], calls: 1 };
  } catch (error) {
    const { reason, refused } =
      error instanceof PublishFailedError ? error : { reason: "unknown", refused: false };
    return { failed: [{ wakeup: only, reason, refused }], calls: 1 };
  }
}

/** Publishes refused messages again, each type by itself. */
async function separate(
  ports: Ports,
  messages: UnpublishedMessage[],
  callsMax: number,
): Promise<Pick<Published, "calls" | "refusedTypes"> & { failed: UnpublishedMessage[] }> {
  const types = groupBy(
    messages.filter(({ refused }) => refused),
    ({ wakeup }) => wakeup.type,
  );
  if (types.size < 2) return { failed: messages, calls: 0, refusedTypes: [...types.keys()] };
  const failed = messages.filter(({ refused }) => !refused);
  const refusedTypes: string[] = [];
  let calls = 0;
  for (const [type, ofType] of types) {
    if (calls >= callsMax) {
      failed.push(...ofType);
      continue;
    }
    const alone = await send(
      ports,
      ofType.map(({ wakeup }) => wakeup),
    );
    calls += alone.calls;
    failed.push(...alone.failed);
    if (alone.failed.some(({ refused }) => refused)) refusedTypes.push(type);
  }
  return { failed, calls, refusedTypes };
}
