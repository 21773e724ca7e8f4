/** Replays the dead letters that a filter matches. */

import { replayMany } from "../../engine/replay.js";
import { readReplayFilter } from "../replay-filter.js";
import type { Action } from "../visit.js";

export const replayDeadLetters: Action = {
  path: "/dead-letters/replay",
  role: "write",
  async act({ ports, actor }, { fields, actionId, reason }) {
    const { filter, faults } = readReplayFilter(fields);
    // The preview tells the faults, and asks for the fields again.
    if (faults.length > 0) return `/dead-letters/replay?${withoutSecrets(fields)}`;
    const { skipped } = await replayMany(ports, actor, filter, { reason, dryRun: false }, actionId);
    return `/replays/${actionId}?skipped=${skipped}`;
  },
};

function withoutSecrets(fields: URLSearchParams): URLSearchParams {
  const names = ["type", "code", "after", "before", "limit", "spread"];
  return new URLSearchParams([...fields].filter(([name, value]) => names.includes(name) && value));
}
