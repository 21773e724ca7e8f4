/** How far a bulk replay is. */

import type { JobStatus } from "../../core/job.js";
import { readReplay } from "../../engine/read-replay.js";
import { SplitBar } from "../charts/split-bar.js";
import { Empty } from "../components/empty.js";
import { STATUS_WORDS, Status } from "../components/status.js";
import { formatNumber } from "../format.js";
import type { Page } from "../visit.js";

/** What has ended comes first, so that the line fills from the left. */
const ENDED: JobStatus[] = ["completed", "dead_letter", "cancelled"];
const ORDER: JobStatus[] = [...ENDED, "failed", "processing", "queued"];

export const replayProgress: Page = {
  path: "/replays/:actionId",
  section: "dead-letters",
  async render({ ports, actor, params, query, base }) {
    const progress = await readReplay(ports, actor, params.actionId ?? "");
    const sumOf = (statuses: JobStatus[]): number =>
      statuses.reduce((sum, status) => sum + (progress[status] ?? 0), 0);
    const total = sumOf(ORDER);
    const ended = sumOf(ENDED);
    const skipped = Number(/^\d{1,6}$/.exec(query.get("skipped") ?? "")?.[0] ?? 0);
    const body = (
      <>
        <h1>Replay</h1>
        <p>
          <a href={`${base}/dead-letters`}>← Dead letters</a>
        </p>
        {total === 0 ? (
          <Empty title="Nothing was replayed.">No job matched any more, or all were skipped.</Empty>
        ) : (
          <>
            <p role="status">
              <b>{formatNumber(ended)}</b> of <b>{formatNumber(total)}</b> jobs ended again.
              {skipped > 0 && ` ${formatNumber(skipped)} were skipped.`}
            </p>
            <SplitBar
              max={total}
              shares={ORDER.map((status) => ({
                name: STATUS_WORDS[status].toLowerCase(),
                tone: status,
                value: progress[status] ?? 0,
              }))}
            />
            <p class="row">
              {ORDER.filter((status) => progress[status]).map((status) => (
                <span>
                  <Status status={status} /> <b>{formatNumber(progress[status] ?? 0)}</b>
                </span>
              ))}
            </p>
            <p class="soft">The first 500 are published at once, the others by the next sweeps.</p>
          </>
        )}
      </>
    );
    return { title: total > 0 ? `Replay ${ended}/${total}` : "Replay", body };
  },
};
