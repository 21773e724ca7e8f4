/** Makes good what a comparison found. */

import type { Comparison, Difference, ReconcilePorts } from "../core/reconcile.js";

const JOBS_PER_STATEMENT = 500;

/**
 * Makes good what the database and QStash's dead letters allow, and gives what it made good.
 *
 * Shape:  jobs without a message are marked for the next sweep, which publishes in its own pace;
 *         dead letters go only by their ids, and never before their job has been marked.
 * Repeat: changes nothing that has changed since the comparison.
 */
export async function repairDifferences(
  { store, records, log }: ReconcilePorts,
  { differences }: Comparison,
): Promise<Difference[]> {
  const gone = differences.filter(
    ({ kind }) => kind === "dead_message" || kind === "lost_message",
  ) as (Difference & { jobId: string; seq: number })[];
  const marked = new Set<string>();
  for (let at = 0; at < gone.length; at += JOBS_PER_STATEMENT) {
    const jobIds = await store.replaceMessages(gone.slice(at, at + JOBS_PER_STATEMENT));
    for (const jobId of jobIds) marked.add(jobId);
  }
  const repaired = differences.filter(
    ({ kind, jobId = "" }) => kind === "spent_dead_letter" || marked.has(jobId),
  );
  const dlqIds = repaired.flatMap(({ dlqId }) => dlqId ?? []);
  await records.deleteDeadMessages(dlqIds);
  log("reconciled", { messagesReplaced: marked.size, deadLettersDeleted: dlqIds.length });
  return repaired;
}
