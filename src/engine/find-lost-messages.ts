/**
 * Finds due jobs for which QStash has no message that could still come.
 *
 * A delivery is a permit to run any job of its type, so a job may wait although its own message was
 * delivered: somebody else's will run it. What proves a loss is only that the job's own message never
 * reached QStash, was given up, or was cancelled: then there is one permit fewer than there are jobs.
 */

import type { Difference, JobTrace, ReconcilePorts, RecordedMessage } from "../core/reconcile.js";

/** A publish may be under way so long after its row was marked; a sweep's longer still. */
const SETTLE_SECONDS = 120;
/** QStash's smallest plan keeps its log for three days. */
const LOOK_BACK_SECONDS = 2 * 86_400;
/**
 * A message may be in the log so long before its row says that it was sent: a repeat within QStash's
 * ten minutes of deduplication is the first message. The rest is for the two clocks.
 */
const EARLIER_MS = 15 * 60_000;
const DUE_JOBS_MAX = 1000;

export interface LostMessages {
  differences: Difference[];
  nowMs: number;
  dueJobs: number;
  loggedMessages: number;
  unjudged: string[];
}

/** Compares twice: what the log lacks must still be the same in the database afterwards. */
export async function findLostMessages(ports: ReconcilePorts): Promise<LostMessages> {
  const { store, records, settings, unpublishedTypes } = ports;
  const settleSeconds = SETTLE_SECONDS + settings.sweepMaxSeconds;
  const bounds = { settleSeconds, lookBackSeconds: LOOK_BACK_SECONDS };
  const { nowMs, jobs, tooOld } = await store.findOverdue(unpublishedTypes, bounds, DUE_JOBS_MAX);
  const found: LostMessages = {
    differences: [],
    nowMs,
    dueJobs: jobs.length,
    loggedMessages: 0,
    unjudged: [],
  };
  if (tooOld > 0) {
    found.unjudged.push(`${tooOld} due jobs were published before QStash's log begins.`);
  }
  if (jobs.length + tooOld >= DUE_JOBS_MAX) {
    found.unjudged.push(`Only the ${DUE_JOBS_MAX} longest due jobs were looked at.`);
  }
  if (jobs.length === 0) return found;
  const sinceMs = Math.min(...jobs.map(sentAtMs)) - EARLIER_MS;
  const created = await records.logged("CREATED", sinceMs);
  const failed = await records.logged("FAILED", sinceMs);
  const canceled = await records.logged("CANCELED", sinceMs);
  const ended = [...failed.messages, ...canceled.messages];
  if ([failed, canceled].some(({ completeSinceMs }) => completeSinceMs > sinceMs)) {
    found.unjudged.push("QStash gave up or cancelled more messages than were read.");
  }
  found.loggedMessages = created.messages.length + ended.length;
  if (created.messages.some(({ isReadable }) => !isReadable)) {
    found.unjudged.push("QStash's log hides the bodies of messages, so none can be missed in it.");
    return found;
  }
  const judged = jobs.filter((job) => sentAtMs(job) - EARLIER_MS >= created.completeSinceMs);
  if (judged.length < jobs.length) {
    const left = jobs.length - judged.length;
    found.unjudged.push(`QStash's log is too long to look for the messages of ${left} due jobs.`);
  }
  const live = liveMessages(created.messages, ended);
  const missing = judged.filter(({ jobId, seq }) => (live.get(jobId) ?? 0) < seq);
  found.differences = (await stillTheSame(ports, missing)).map((job) =>
    lost(job, created.messages),
  );
  return found;
}

/** The newest seq of each job among the messages that may still come, or have been delivered. */
function liveMessages(created: RecordedMessage[], ended: RecordedMessage[]): Map<string, number> {
  const dead = new Set(ended.map(({ messageId }) => messageId));
  const live = new Map<string, number>();
  for (const { messageId, message } of created) {
    if (!message || dead.has(messageId)) continue;
    live.set(message.jobId, Math.max(message.seq, live.get(message.jobId) ?? 0));
  }
  return live;
}

async function stillTheSame({ store }: ReconcilePorts, jobs: JobTrace[]): Promise<JobTrace[]> {
  if (jobs.length === 0) return [];
  const now = new Map((await store.traceJobs(jobs.map(({ jobId }) => jobId))).map(byId));
  return jobs.filter((job) => {
    const present = now.get(job.jobId);
    return (
      present?.status === job.status &&
      present.seq === job.seq &&
      present.triggeredAtMs === job.triggeredAtMs
    );
  });
}

const byId = (trace: JobTrace): [string, JobTrace] => [trace.jobId, trace];

const sentAtMs = ({ triggeredAtMs }: JobTrace): number => triggeredAtMs ?? 0;

function lost({ jobId, type, seq, status }: JobTrace, created: RecordedMessage[]): Difference {
  const wasThere = created.some(({ message }) => message?.jobId === jobId && message.seq >= seq);
  const why = wasThere ? "was given up or cancelled" : "never reached QStash";
  const detail = `the job is ${status} and due; its message ${why}`;
  return { kind: "lost_message", detail, isRepairable: true, jobId, type, seq };
}
