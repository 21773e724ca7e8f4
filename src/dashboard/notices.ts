/** What came of an action, told on the page that follows it: a closed list, since it is in the URL. */

export interface Notice {
  tone: "good" | "bad";
  text: string;
}

const NOTICES = {
  cancelled: { tone: "good", text: "Cancelled." },
  cancel_requested: { tone: "good", text: "The running attempt is asked to stop." },
  replayed: { tone: "good", text: "Queued again." },
  moved: { tone: "good", text: "Due now." },
  settled: { tone: "good", text: "The outcome is recorded. Replay the job to go on." },
  paused: { tone: "good", text: "Paused." },
  resumed: { tone: "good", text: "Resumed." },
  schedule_ran: { tone: "good", text: "This job was made now, besides the slots." },
  not_cancellable: { tone: "bad", text: "Nothing was cancelled: the job has ended." },
  not_replayable: {
    tone: "bad",
    text: "Nothing was replayed: the job is neither a dead letter nor cancelled.",
  },
  dedupe_conflict: {
    tone: "bad",
    text: "Nothing was replayed: this active job holds the same dedupe key.",
  },
  not_waiting: { tone: "bad", text: "Nothing was moved: the job does not wait for a later time." },
  not_unknown: {
    tone: "bad",
    text: "Nothing was settled: the outcome is known, or the effect runs at this moment.",
  },
  reason_missing: { tone: "bad", text: "Nothing was settled: say why." },
  declared: {
    tone: "bad",
    text: "Nothing was changed: this schedule is declared in its job file.",
  },
  unknown_job_type: { tone: "bad", text: "Nothing was made: its job type is not registered here." },
} as const satisfies Record<string, Notice>;

export type NoticeCode = keyof typeof NOTICES;

/** Adds a notice to a path below the base. */
export function withNotice(path: string, code: NoticeCode): string {
  return `${path}?notice=${code}`;
}

/** Reads the notice of a query. */
export function noticeOf(query: URLSearchParams): Notice | undefined {
  const code = query.get("notice") ?? "";
  return Object.hasOwn(NOTICES, code) ? NOTICES[code as NoticeCode] : undefined;
}
