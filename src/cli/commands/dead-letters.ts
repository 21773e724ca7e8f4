/** `antrean dead-letters`: what failed for good, and starting it anew. */

import type { Command } from "commander";
import { addListOptions, type ListOptions, listJobs } from "../list-jobs.js";
import { seconds, wholeNumber } from "../parse-option.js";
import type { Action, Session } from "../session.js";

interface ReplayOptions {
  type?: string;
  errorCode?: string;
  createdAfter?: string;
  createdBefore?: string;
  limit?: number;
  spread?: number;
  reason?: string;
  yes?: boolean;
}

interface ReplayCounts {
  matched: number;
  replayed: number;
  skipped: number;
  dryRun: boolean;
}

/** The server's own bound on one replay. */
const LIMIT_MAX = 5000;

export function addDeadLetters(program: Command, action: Action): void {
  const group = program.command("dead-letters").description("Jobs that failed for good");
  addListOptions(group.command("list").description("List dead letters, newest first")).action(
    action((session, options: ListOptions) =>
      listJobs(session, { ...options, status: ["dead_letter"] }),
    ),
  );
  group
    .command("replay")
    .description("Count the dead letters that a filter matches; with --yes, start them anew")
    .option("--type <type>", "of this type")
    .option("--error-code <code>", "whose last error has this code, such as http_503")
    .option("--created-after <instant>", "RFC 3339")
    .option("--created-before <instant>", "RFC 3339")
    .option("--limit <count>", "at most so many, oldest first", wholeNumber(1, LIMIT_MAX))
    .option("--spread <seconds>", "due evenly over so many seconds", seconds)
    .option("--reason <text>", "kept in the jobs' timelines")
    .option("--yes", "do it")
    .addHelpText("after", "\nExample:\n  $ antrean dead-letters replay --error-code http_503 --yes")
    .action(action(replay));
}

async function replay(session: Session, options: ReplayOptions): Promise<void> {
  const { yes = false, spread, ...filter } = options;
  const { post } = session.api();
  const ask = (dryRun: boolean) =>
    post<ReplayCounts>("/api/dead-letters/replay", { ...filter, spreadSeconds: spread, dryRun });
  // Always first, so that what is about to happen is on the screen before it does.
  const planned = await ask(true);
  const counted = `${planned.matched} match, ${planned.skipped} of them would be skipped`;
  if (!yes || planned.matched === 0) {
    session.show(planned, () => `${counted}.\n`);
    if (!yes && planned.matched > 0) session.say("Nothing was changed; --yes replays them.");
    return;
  }
  session.say(`${counted}; replaying.`);
  session.show(await ask(false), ({ replayed, skipped }) => {
    return `${replayed} replayed, ${skipped} skipped.\n`;
  });
}
