/** Dead letters, grouped by type and error code. */

import { includesRole } from "../../core/access.js";
import type { DeadLetterGroup } from "../../core/activity.js";
import { groupDeadLetters } from "../../engine/group-dead-letters.js";
import { Empty } from "../components/empty.js";
import { ReplayFields } from "../components/replay-fields.js";
import { Ago } from "../components/time.js";
import { formatCount, shortId } from "../format.js";
import type { Html, Page, Visit } from "../visit.js";

export const deadLetters: Page = {
  path: "/dead-letters",
  section: "dead-letters",
  async render(visit) {
    const { groups, capped } = await groupDeadLetters(visit.ports, visit.actor);
    const type = visit.query.get("type");
    const shown = type ? groups.filter((group) => group.type === type) : groups;
    const body = (
      <>
        <div class="head">
          <h1>Dead letters</h1>
          {capped && <p class="soft">The newest 2,000 of a tenant; there are more.</p>}
          {type && (
            <p>
              Of {type}. <a href={`${visit.base}/dead-letters`}>Show all types</a>
            </p>
          )}
        </div>
        {shown.length === 0 ? (
          <Empty title="No dead letters.">
            A job that used up its attempts, or that cannot succeed, would wait here for you.
          </Empty>
        ) : (
          <ul class="groups">
            {shown.map((group) => (
              <Group visit={visit} group={group} capped={capped} />
            ))}
          </ul>
        )}
        {groups.length > 0 && includesRole(visit.role, "write") && (
          <>
            <h2>Replay by filter</h2>
            <ReplayFields visit={visit} />
          </>
        )}
      </>
    );
    return { title: "Dead letters", body };
  },
};

function Group(props: { visit: Visit; group: DeadLetterGroup; capped: boolean }): Html {
  const { type, code, count, firstAt, lastAt, exampleId, exampleMessage } = props.group;
  const { base, nowMs, role } = props.visit;
  return (
    <li id={`${type} ${code}`}>
      <b class="count">{formatCount({ count, capped: props.capped })}</b>
      <div>
        <h2>
          {type} <code>{code}</code>
        </h2>
        <p class="message">{exampleMessage}</p>
        <p class="soft">
          First <Ago at={firstAt} nowMs={nowMs} />, last <Ago at={lastAt} nowMs={nowMs} />
          {" · "}latest <a href={`${base}/jobs/${exampleId}`}>{shortId(exampleId)}</a>
          {" · "}
          <a href={`${base}/jobs?status=dead_letter&type=${type}`}>all of the type</a>
        </p>
      </div>
      {includesRole(role, "write") && (
        <a
          class="button"
          href={`${base}/dead-letters/replay?${new URLSearchParams({ type, code })}`}
        >
          Replay…
        </a>
      )}
    </li>
  );
}
