/** `antrean stats`: how much waits, runs and failed. */

import type { Command } from "commander";
import { type Cell, instant, table } from "../paint.js";
import { seconds } from "../parse-option.js";
import type { Action, Session } from "../session.js";
import { type WatchOption, watching } from "../watch.js";

interface Count {
  count: number;
  capped: boolean;
}

interface TypeStats {
  type: string;
  paused: boolean;
  queuedDue: Count;
  queuedLater: Count;
  failed: Count;
  processing: Count;
  expiredLeases: Count;
  deadLetters: Count;
  oldestDueSeconds: number | null;
  attempts: { byOutcome: Record<string, number> };
}

interface Stats {
  at: string;
  types: TypeStats[];
}

export function addStats(program: Command, action: Action): void {
  program
    .command("stats")
    .description("Count jobs by type and state, and the attempts of the last hour")
    .option("--watch [seconds]", "again and again, every 2 seconds or as said", seconds)
    .action(action(showStats));
}

async function showStats(session: Session, options: { watch?: WatchOption }): Promise<void> {
  const { get } = session.api();
  await watching(session, options.watch, async () => {
    session.show(await get<Stats>("/api/stats"), ({ at, types }) => {
      const { paint } = session;
      if (types.length === 0) return `${instant(at)}: nothing to count.\n`;
      const headings = ["TYPE", "DUE", "OLDEST", "LATER", "RETRY", "RUNNING", "DEAD", "LAST HOUR"];
      return `${paint("dim", `${instant(at)} UTC`)}\n${table(paint, headings, types.map(rowOf))}`;
    });
  });
}

function rowOf(stats: TypeStats): Cell[] {
  const { deadLetters, oldestDueSeconds: oldest, expiredLeases } = stats;
  const expired = expiredLeases.count > 0 ? ` (${countText(expiredLeases)} expired)` : "";
  const dead = countText(deadLetters);
  return [
    stats.paused ? { text: `${stats.type} (paused)`, colour: "yellow" } : stats.type,
    countText(stats.queuedDue),
    oldest === null ? "–" : `${Math.round(oldest)} s`,
    countText(stats.queuedLater),
    countText(stats.failed),
    countText(stats.processing) + expired,
    deadLetters.count > 0 ? { text: dead, colour: "red" } : dead,
    Object.entries(stats.attempts.byOutcome)
      .map(([outcome, count]) => `${count} ${outcome}`)
      .join(", "),
  ];
}

/** Counts stop somewhere, so that asking stays cheap. */
function countText({ count, capped }: Count): string {
  return capped ? `${count}+` : String(count);
}
