/** What a replay by filter would do, before it is done. */

import { includesRole } from "../../core/access.js";
import { replayMany } from "../../engine/replay.js";
import { ActionForm } from "../components/action-form.js";
import { Empty } from "../components/empty.js";
import { formatNumber } from "../format.js";
import { REPLAY_LIMIT, readReplayFilter } from "../replay-filter.js";
import type { Html, Page, Visit } from "../visit.js";

export const replayPreview: Page = {
  path: "/dead-letters/replay",
  section: "dead-letters",
  async render(visit) {
    const { ports, actor, query, base } = visit;
    const { filter, faults } = readReplayFilter(query);
    const counted =
      faults.length > 0
        ? null
        : await replayMany(
            ports,
            actor,
            { ...filter, limit: REPLAY_LIMIT.max },
            { reason: null, dryRun: true },
          );
    const body = (
      <>
        <h1>Replay dead letters</h1>
        <p>
          <a href={`${base}/dead-letters`}>← Dead letters</a>
        </p>
        {faults.map((fault) => (
          <p class="notice bad" role="alert">
            {fault}
          </p>
        ))}
        {counted && <FilterWords query={query} />}
        {counted && counted.matched === 0 && (
          <Empty title="No dead letter matches now.">
            They may have been replayed in the meantime.
          </Empty>
        )}
        {counted && counted.matched > 0 && (
          <>
            <p>
              <b>{formatNumber(counted.matched)}</b>
              {counted.matched === REPLAY_LIMIT.max ? " or more match" : " match"};{" "}
              <b>{formatNumber(counted.skipped)}</b> of them would be skipped, since an active job
              or a newer dead letter holds their dedupe key.
            </p>
            {includesRole(visit.role, "write") && (
              <Confirm visit={visit} matched={counted.matched} />
            )}
          </>
        )}
      </>
    );
    return { title: "Replay dead letters", body, status: counted ? 200 : 400 };
  },
};

const FIELDS = {
  type: "Type",
  code: "Error code",
  after: "Created from",
  before: "until",
} as const;

function FilterWords({ query }: { query: URLSearchParams }): Html {
  const given = Object.entries(FIELDS).filter(([name]) => query.get(name));
  if (given.length === 0) return <p>All dead letters, of every type and code.</p>;
  return (
    <dl class="facts">
      {given.map(([name, title]) => (
        <div>
          <dt>{title}</dt>
          <dd>
            <code>{query.get(name)}</code>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Confirm({ visit, matched }: { visit: Visit; matched: number }): Html {
  return (
    <div class="panel">
      <ActionForm
        visit={visit}
        path="/dead-letters/replay"
        label="Replay them"
        tone="main"
        confirm={`Replay up to ${formatNumber(matched)} dead letters?`}
      >
        {Object.keys(FIELDS).map((name) => (
          <input type="hidden" name={name} value={visit.query.get(name) ?? ""} />
        ))}
        <label>
          At most
          <input
            type="number"
            name="limit"
            min={1}
            max={REPLAY_LIMIT.max}
            value={String(Math.min(matched, REPLAY_LIMIT.default))}
            required
          />
        </label>
        <label>
          Spread over (seconds)
          <input type="number" name="spread" min={0} max={86_400} value="0" required />
        </label>
        <label>
          Reason (optional)
          <input name="reason" maxlength={500} autocomplete="off" />
        </label>
      </ActionForm>
      <p class="soft">The oldest go first. Effects that are done are not repeated.</p>
    </div>
  );
}
