/** Starts ended jobs anew: one by id, or many dead letters by a filter. */

import type { PayloadIssue } from "../core/define-job.js";
import type { Json } from "../core/job.js";
import type { Actor, ReplayFilter, ReplayOutcome } from "../core/operations.js";
import type { Ports } from "../core/ports.js";
import { checkPayload } from "./check-payload.js";
import { publishAfterCommit } from "./publish.js";

/** Jobs of a bulk replay that are published at once; the next sweeps publish the rest. */
const PUBLISHED_AT_ONCE_MAX = 500;

/** What a bulk replay did, or would do. */
export interface BulkReplayReport {
  matched: number;
  replayed: number;
  skipped: number;
  dryRun: boolean;
}

/** Replays one dead letter or cancelled job, with a corrected payload if one is given. */
export async function replay(
  ports: Ports,
  actor: Actor,
  jobId: string,
  options: { reason: string | null; payload?: Json },
  actionId = ports.entropy.newId(),
): Promise<ReplayOutcome | { kind: "refused"; issues: PayloadIssue[] }> {
  if (options.payload !== undefined) {
    const issues = await payloadIssues(ports, actor, jobId, options.payload);
    if (issues === null) return { kind: "not_found" };
    if (issues.length > 0) return { kind: "refused", issues };
  }
  const action = { actionId, actor, reason: options.reason };
  const outcome = await ports.store.replay(jobId, action, {
    payload: options.payload,
    unpublishedTypes: unpublishedTypes(ports),
  });
  if (outcome.kind === "replayed") {
    ports.log("job_replayed", { jobId, by: actor.keyName });
    if (outcome.wakeup) await publishAfterCommit(ports, [outcome.wakeup]);
  }
  return outcome;
}

/** Replays the dead letters that a filter matches, or only counts them. */
export async function replayMany(
  ports: Ports,
  actor: Actor,
  filter: ReplayFilter,
  options: { reason: string | null; dryRun: boolean },
  actionId = ports.entropy.newId(),
): Promise<BulkReplayReport> {
  if (options.dryRun) {
    const { matched, skipped } = await ports.store.countReplayable(filter, actor);
    return { matched, replayed: 0, skipped, dryRun: true };
  }
  const action = { actionId, actor, reason: options.reason };
  const { matched, replayed, skipped, wakeups } = await ports.store.replayMany(filter, action, {
    publishMax: PUBLISHED_AT_ONCE_MAX,
    unpublishedTypes: unpublishedTypes(ports),
  });
  ports.log("job_replayed", { by: actor.keyName, count: replayed });
  await publishAfterCommit(ports, wakeups);
  return { matched, replayed, skipped, dryRun: false };
}

/** Types that are never published: workers fetch their jobs themselves. */
export function unpublishedTypes(ports: Ports): string[] {
  return [...ports.registry.values()]
    .filter(({ runsOn }) => runsOn === "worker")
    .map(({ type }) => type);
}

/** Checks a corrected payload against the job's type, which never changes; null without a job. */
async function payloadIssues(
  ports: Ports,
  actor: Actor,
  jobId: string,
  payload: Json,
): Promise<PayloadIssue[] | null> {
  const job = await ports.store.read(jobId, actor);
  if (!job) return null;
  const definition = ports.registry.get(job.type);
  if (!definition) {
    return [{ path: ["payload"], message: `no job type "${job.type}" here to check it against` }];
  }
  const checked = await checkPayload(ports, definition, payload);
  return "refused" in checked ? checked.refused : [];
}
