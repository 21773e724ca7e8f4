/** How far a bulk replay is. */

import { JOB_STATUSES, type JobStatus } from "../../core/job.js";
import { readReplay } from "../../engine/read-replay.js";
import { SplitBar } from "../charts/split-bar.js";
import { Empty } from "../components/empty.js";
import { STATUS_WORDS, Status } from "../components/status.js";
import { formatNumber } from "../format.js";
import type { Page } from "../visit.js";

/** Done first, so that the line fills from the left. */
const ORDER: JobStatus[] = [
  "completed",
  "dead_letter",
  "cancelled",
  "failed",
  "processing",
  "queued",
];

export const replayProgress: Page = {
  path: "/replays/:actionId",
  section: "dead-letters",
  async render({ ports, actor, params, query, base }) {
    const progress = await readReplay(ports, actor, params.actionId ?? "");
    const count = (status: JobStatus): number => progress[status] ?? 0;
    const total = JOB_STATUSES.reduce((sum, status) => sum + count(status), 0);
    const ended = count("completed") + count("dead_letter") + count("cancelled");
    const skipped = /^\d{1,6}$/.test(query.get("skipped") ?? "") ? Number(query.get("skipped")) : 0;
    const body = (
      <>
        <h1>Replay</h1>
        <p>
          <a href={`${base}/dead-letters`}>← Dead letters</a>
        </p>
        {total === 0 ? (
          <Empty title="Nothing was replayed.">
            No job matched any more, or all of them were skipped.
          </Empty>
        ) : (
          <>
            <p role="status">
              <b>{formatNumber(ended)}</b> of <b>{formatNumber(total)}</b> jobs ended again.
            </p>
            <SplitBar
              max={total}
              shares={ORDER.map((status) => ({
                name: STATUS_WORDS[status].toLowerCase(),
                tone: status,
                value: count(status),
              }))}
            />
            <ul class="counts">
              {ORDER.filter(count).map((status) => (
                <li>
                  <Status status={status} /> <b>{formatNumber(count(status))}</b>
                </li>
              ))}
            </ul>
            <p class="soft">
              The first 500 are published at once, the others by the next sweeps.
              {skipped > 0 && ` ${formatNumber(skipped)} were skipped.`}
            </p>
          </>
        )}
      </>
    );
    return { title: total > 0 ? `Replay ${ended}/${total}` : "Replay", body };
  },
};
