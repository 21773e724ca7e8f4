/** Dead letters, grouped by type and error code. */

import { includesRole } from "../../core/access.js";
import type { DeadLetterGroup } from "../../core/activity.js";
import { groupDeadLetters } from "../../engine/group-dead-letters.js";
import { Empty } from "../components/empty.js";
import { Ago } from "../components/time.js";
import { formatNumber, shortId } from "../format.js";
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
          {capped && <p class="soft">Of the newest 2,000 of a tenant; there are more.</p>}
        </div>
        {type && (
          <p>
            Of the type <b>{type}</b>. <a href={`${visit.base}/dead-letters`}>Show all types</a>
          </p>
        )}
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
          <ByFilter visit={visit} groups={groups} />
        )}
      </>
    );
    return { title: "Dead letters", body };
  },
};

function Group(props: { visit: Visit; group: DeadLetterGroup; capped: boolean }): Html {
  const { visit, capped } = props;
  const { type, code, count, firstAt, lastAt, exampleId, exampleMessage } = props.group;
  const { base, nowMs } = visit;
  const filter = new URLSearchParams({ type, code });
  return (
    <li id={`g-${type}-${code}`}>
      <b class="count">
        {formatNumber(count)}
        {capped && "+"}
      </b>
      <div>
        <h2>
          {type} <code>{code}</code>
        </h2>
        <p class="message">{exampleMessage}</p>
        <p class="soft">
          {count === 1 ? (
            <Ago at={lastAt} nowMs={nowMs} />
          ) : (
            <>
              First <Ago at={firstAt} nowMs={nowMs} />, last <Ago at={lastAt} nowMs={nowMs} />
            </>
          )}
          {" · "}
          {count === 1 ? "Job" : "Latest"}{" "}
          <a href={`${base}/jobs/${exampleId}`}>{shortId(exampleId)}</a>
          {" · "}
          <a href={`${base}/jobs?status=dead_letter&type=${type}`}>All of the type</a>
        </p>
      </div>
      {includesRole(visit.role, "write") && (
        <a class="button" href={`${base}/dead-letters/replay?${filter}`}>
          Replay…
        </a>
      )}
    </li>
  );
}

function ByFilter({ visit, groups }: { visit: Visit; groups: DeadLetterGroup[] }): Html {
  const distinct = (values: string[]) => [...new Set(values)].sort();
  return (
    <>
      <h2>Replay by filter</h2>
      <form class="filters" action={`${visit.base}/dead-letters/replay`}>
        <label>
          Type
          <select name="type">
            <option value="">All</option>
            {distinct(groups.map(({ type }) => type)).map((type) => (
              <option value={type}>{type}</option>
            ))}
          </select>
        </label>
        <label>
          Error code
          <select name="code">
            <option value="">All</option>
            {distinct(groups.map(({ code }) => code)).map((code) => (
              <option value={code}>{code}</option>
            ))}
          </select>
        </label>
        <label>
          Created from (UTC)
          <input type="datetime-local" name="after" />
        </label>
        <label>
          until
          <input type="datetime-local" name="before" />
        </label>
        <div class="row">
          <button type="submit">Count first…</button>
        </div>
      </form>
    </>
  );
}
