/** Runs a claimed attempt and records its end; shared by deliveries, sweeps and workers. */

import type { AttemptReport, ClaimedAttempt, FinishOutcome } from "../core/attempt.js";
import type { Ports } from "../core/ports.js";
import { markFailed, publish } from "./publish.js";
import { run } from "./run.js";

export type ExecutedOutcome =
  | "completed"
  | "rescheduled"
  | "snoozed"
  | "dead_lettered"
  | "cancelled";

export interface ExecuteOptions {
  /** The job that the delivery named, where a permit ran another one. */
  namedJobId?: string;
  /** Set while the trigger is known to be down: the next message is left to the sweep. */
  leaveUnpublished?: boolean;
}

/**
 * Runs the handler, records the outcome under the lock token, and publishes the next message.
 *
 * @param budgetSeconds what is left of the invocation
 * Errors: `StoreUnavailableError` when the outcome could not be recorded; the lease then bounds it.
 */
export async function execute(
  ports: Ports,
  attempt: ClaimedAttempt,
  budgetSeconds: number,
  options: ExecuteOptions = {},
): Promise<ExecutedOutcome | "lease_lost"> {
  const { jobId, type, attempt: number } = attempt;
  const namedJobId = options.namedJobId === jobId ? undefined : options.namedJobId;
  ports.log("attempt_claimed", {
    jobId,
    namedJobId,
    type,
    attempt: number,
    waitedSeconds: attempt.waitedSeconds,
    traceparent: attempt.traceparent,
  });
  const startedMs = performance.now();
  const report = await run(ports, attempt, budgetSeconds);
  const finished = await ports.store.finish({
    jobId,
    lockToken: attempt.lockToken,
    attempt: number,
    report,
    waitedSeconds: attempt.waitedSeconds,
    publish: ports.registry.get(type)?.runsOn !== "worker",
  });
  const durationMs = Math.round(performance.now() - startedMs);
  if (finished.kind !== "recorded") {
    ports.log("attempt_lease_lost", {
      jobId,
      type,
      attempt: number,
      late: report.kind,
      durationMs,
    });
    return "lease_lost";
  }
  const outcome = outcomeOf(finished, report);
  const code = "code" in report ? report.code : undefined;
  ports.log("attempt_finished", {
    jobId,
    namedJobId,
    type,
    attempt: number,
    outcome,
    code,
    durationMs,
  });
  if (finished.wakeup) {
    const { wakeup } = finished;
    if (options.leaveUnpublished) await markFailed(ports, [{ wakeup, reason: "not_tried" }]);
    else await publish(ports, [wakeup]);
  }
  return outcome;
}

function outcomeOf(
  { status }: Extract<FinishOutcome, { kind: "recorded" }>,
  report: AttemptReport,
): ExecutedOutcome {
  switch (status) {
    case "completed":
      return "completed";
    case "dead_letter":
      return "dead_lettered";
    case "cancelled":
      return "cancelled";
    default:
      return report.kind === "snooze" || report.kind === "unknown_type" ? "snoozed" : "rescheduled";
  }
}
