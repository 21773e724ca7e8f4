/** A job's state, in words and with its color. */

import type { JobStatus } from "../../core/job.js";
import type { Html } from "../visit.js";

export const STATUS_WORDS: Record<JobStatus, string> = {
  queued: "Queued",
  processing: "Running",
  completed: "Completed",
  failed: "Retrying",
  dead_letter: "Dead letter",
  cancelled: "Cancelled",
};

/** A dot and a word: the color alone tells nothing. */
export function Status({ status }: { status: JobStatus }): Html {
  return (
    <span class={`status ${status}`}>
      <span class="dot" />
      {STATUS_WORDS[status]}
    </span>
  );
}
