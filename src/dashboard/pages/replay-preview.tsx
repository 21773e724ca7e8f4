/** What a replay by filter would do, before it is done. */

import { includesRole } from "../../core/access.js";
import { REPLAY_LIMIT, REPLAY_SPREAD_SECONDS_MAX } from "../../core/operations.js";
import { type BulkReplayReport, replayMany } from "../../engine/replay.js";
import { ActionForm } from "../components/action-form.js";
import { Empty } from "../components/empty.js";
import { Faults, Field, ReasonField } from "../components/field.js";
import { ReplayFields } from "../components/replay-fields.js";
import { formatNumber } from "../format.js";
import { readReplayFilter } from "../replay-filter.js";
import type { Html, Page, Visit } from "../visit.js";

export const replayPreview: Page = {
  path: "/dead-letters/replay",
  section: "dead-letters",
  async render(visit) {
    const { ports, actor, query, role } = visit;
    const { filter, faults } = readReplayFilter(query);
    const all = { ...filter, limit: REPLAY_LIMIT.max };
    const dryRun = { reason: null, dryRun: true };
    const counted = faults.length > 0 ? null : await replayMany(ports, actor, all, dryRun);
    const body = (
      <>
        <h1>Replay dead letters</h1>
        <ReplayFields visit={visit} />
        <Faults faults={faults} />
        {counted && <Counted {...counted} />}
        {counted && counted.matched > 0 && includesRole(role, "write") && (
          <Confirm visit={visit} matched={counted.matched} />
        )}
      </>
    );
    return { title: "Replay dead letters", body, status: counted ? 200 : 400 };
  },
};

function Counted({ matched, skipped }: BulkReplayReport): Html {
  if (matched === 0) {
    return <Empty title="No dead letter matches now.">They may have been replayed already.</Empty>;
  }
  return (
    <p>
      <b>{formatNumber(matched)}</b>
      {matched === REPLAY_LIMIT.max ? " or more match" : " match"}; <b>{formatNumber(skipped)}</b>{" "}
      of them would be skipped, since an active job or a newer dead letter holds their dedupe key.
    </p>
  );
}

function Confirm({ visit, matched }: { visit: Visit; matched: number }): Html {
  const limit = String(Math.min(matched, REPLAY_LIMIT.default));
  const number = { type: "number", required: true } as const;
  return (
    <div class="panel">
      <p>The oldest go first. Effects that are done are not repeated.</p>
      <ActionForm visit={visit} path="/dead-letters/replay" label="Replay them" tone="main">
        {["type", "code", "after", "before"].map((name) => (
          <input type="hidden" name={name} value={visit.query.get(name) ?? ""} />
        ))}
        <Field
          label="At most"
          name="limit"
          min={1}
          max={REPLAY_LIMIT.max}
          value={limit}
          {...number}
        />
        <Field
          label="Spread over (seconds)"
          name="spread"
          min={0}
          max={REPLAY_SPREAD_SECONDS_MAX}
          value="0"
          {...number}
        />
        <ReasonField />
      </ActionForm>
    </div>
  );
}
