/** What came of an action, told on the page that follows it: a closed list, since it is in the URL. */

const GOOD = {
  cancelled: "Cancelled.",
  cancel_requested: "The running attempt is asked to stop.",
  replayed: "Queued again.",
  moved: "Due now.",
  settled: "Settled. Replay the job to go on.",
  paused: "Paused.",
  resumed: "Resumed.",
  schedule_ran: "This job was made now, besides the slots.",
};
const BAD = {
  not_cancellable: "The job has ended.",
  not_replayable: "The job is neither a dead letter nor cancelled.",
  dedupe_conflict: "This active job holds the same dedupe key.",
  not_waiting: "The job does not wait for a later time.",
  not_unknown: "The outcome is known, or the effect runs at this moment.",
  reason_missing: "Say why.",
  declared: "This schedule is declared in its job file.",
  unknown_job_type: "The job type is not registered here.",
};

export type NoticeCode = keyof typeof GOOD | keyof typeof BAD;

/** Adds a notice to a path below the base. */
export function withNotice(path: string, code: NoticeCode): string {
  return `${path}?notice=${code}`;
}

/** Reads the notice of a query. */
export function noticeOf(
  query: URLSearchParams,
): { tone: "good" | "bad"; text: string } | undefined {
  const code = query.get("notice") ?? "";
  if (Object.hasOwn(GOOD, code)) return { tone: "good", text: GOOD[code as keyof typeof GOOD] };
  if (!Object.hasOwn(BAD, code)) return undefined;
  return { tone: "bad", text: `Nothing was changed. ${BAD[code as keyof typeof BAD]}` };
}
