/** Publishes wake-up messages after their commit; a failure is written down and never thrown. */

import type { Wakeup } from "../core/job.js";
import type { Ports } from "../core/ports.js";

/** What came of publishing some wakeups, and how many calls it took. */
export interface Published {
  failed: number;
  calls: number;
}

/**
 * Publishes the messages; those that fail are marked as not published, for the sweep.
 *
 * Errors: never throws. When even the mark cannot be written, the job looks published and is found
 *         as a vanished message, ten minutes after its due time (I9).
 */
export async function publish(ports: Ports, wakeups: Wakeup[]): Promise<Published> {
  const [only] = wakeups;
  if (!only) return { failed: 0, calls: 0 };
  const { failed, calls } =
    wakeups.length === 1 ? await publishOne(ports, only) : await ports.trigger.publishMany(wakeups);
  if (failed.length === 0) return { failed: 0, calls };
  return { failed: failed.length, calls: calls + (await markFailed(ports, failed)) };
}

/** Publishes after the answer where the platform keeps the instance alive, else before it. */
export async function publishAfterCommit(ports: Ports, wakeups: Wakeup[]): Promise<void> {
  if (wakeups.length === 0) return;
  const work = publish(ports, wakeups);
  if (ports.waitUntil) ports.waitUntil(work);
  else await work;
}

/** Writes down that messages were not published; gives the calls that it took. */
export async function markFailed(ports: Ports, failed: Wakeup[]): Promise<number> {
  try {
    await ports.store.markUnpublished(failed);
  } catch (error) {
    ports.log("publish_failed", { count: failed.length, recorded: false, error: String(error) });
    return 1;
  }
  const [first] = failed;
  ports.log("publish_failed", {
    count: failed.length,
    recorded: true,
    jobId: first?.jobId,
    type: first?.type,
  });
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
    const later = delaySeconds - Math.max(0, wakeup.dueInSeconds);
    if (later <= 0) return wakeup;
    const dueInSeconds = wakeup.dueInSeconds + (delaySeconds - wakeup.dueInSeconds);
    const nowEpochSeconds = wakeup.dueAtEpochSeconds - wakeup.dueInSeconds;
    return { ...wakeup, dueInSeconds, dueAtEpochSeconds: nowEpochSeconds + delaySeconds };
  });
}

async function publishOne(
  ports: Ports,
  wakeup: Wakeup,
): Promise<{ failed: Wakeup[]; calls: number }> {
  try {
    await ports.trigger.publish(wakeup);
    return { failed: [], calls: 1 };
  } catch {
    return { failed: [wakeup], calls: 1 };
  }
}
