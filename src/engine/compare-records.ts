/** Compares the database with what QStash remembers. */

import type { Comparison, Difference, ReconcilePorts } from "../core/reconcile.js";
import { SILENT_INTERVALS } from "../core/sweep.js";
import { compareDeadMessages } from "./compare-dead-messages.js";
import { findLostMessages } from "./find-lost-messages.js";

const UNPUBLISHED_COUNTED_MAX = 1000;

/** Says what is in one and not in the other; changes nothing. */
export async function compareRecords(ports: ReconcilePorts): Promise<Comparison> {
  const { store, records, settings } = ports;
  const { sweepAgeSeconds } = await store.health();
  const silenceSeconds = SILENT_INTERVALS * settings.sweepIntervalSeconds;
  const sweepsAreSilent = (sweepAgeSeconds ?? Number.POSITIVE_INFINITY) > silenceSeconds;
  const lost = await findLostMessages(ports);
  const dead = await records.deadMessages();
  // After QStash was read: a job that went on meanwhile is then seen to have gone on.
  const ofDead = await compareDeadMessages(ports, dead.messages, lost.nowMs);
  const known = new Set(ofDead.map(({ kind, jobId }) => kind === "dead_message" && jobId));
  return {
    differences: [
      ...ofDead,
      ...lost.differences.filter(({ jobId }) => !known.has(jobId)),
      // While sweeps come, jobs that are not published are their ordinary work.
      ...(sweepsAreSilent ? await unpublished(ports) : []),
    ],
    examined: {
      deadMessages: dead.messages.length,
      dueJobs: lost.dueJobs,
      loggedMessages: lost.loggedMessages,
    },
    unjudged: [
      ...lost.unjudged,
      ...(dead.isComplete ? [] : ["QStash keeps more dead letters than were read: run it again."]),
    ],
    sweepsAreSilent,
  };
}

async function unpublished({ store, unpublishedTypes }: ReconcilePorts): Promise<Difference[]> {
  const count = await store.countUnpublished(unpublishedTypes, UNPUBLISHED_COUNTED_MAX);
  if (count === 0) return [];
  const jobs = count < UNPUBLISHED_COUNTED_MAX ? `${count}` : `${count} or more`;
  const detail = `${jobs} due jobs are not published, and no sweep comes to do it`;
  return [{ kind: "not_published", detail, isRepairable: true }];
}
