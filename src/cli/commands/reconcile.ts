/** `antrean reconcile`: what the database and QStash do not agree about. */

import type { Command } from "commander";
import { readConfig } from "../../config.js";
import { FailedError } from "../io.js";
import { type Cell, table } from "../paint.js";
import { type Difference, openSides, type Reconciliation } from "../reconcile.js";
import type { Action, Session } from "../session.js";

/** A screen or two; `--json` has them all. */
const SHOWN_MAX = 50;

interface Shown extends Reconciliation {
  differences: (Difference & { isRepaired: boolean })[];
}

export function addReconcile(program: Command, action: Action): void {
  program
    .command("reconcile")
    .description("Compare the database with QStash's messages, dead letters and schedules")
    .option("--repair", "make good what can safely be made good, as often as you like")
    .addHelpText(
      "after",
      "\nUses the deployment's own environment. Without --repair it changes nothing.\n" +
        "Jobs without a message are marked for the next sweep; it publishes nothing itself\n" +
        "unless no sweep comes. What other applications have in the account is left alone.\n" +
        "Exit code 1 while differences are left.",
    )
    .action(action(reconcile));
}

async function reconcile(session: Session, { repair }: { repair?: boolean }): Promise<void> {
  const sides = await openSides(session, readConfig(session.env, "node"));
  const found = await sides.compare();
  const repaired = new Set(repair ? await sides.repair() : []);
  const differences = found.differences.map((each) => {
    return { ...each, isRepaired: repaired.has(each) };
  });
  session.show({ ...found, differences }, (shown) => textOf(session, shown));
  for (const sentence of found.unjudged) session.say(sentence);
  const left = differences.filter(({ isRepaired }) => !isRepaired);
  if (left.some(({ isRepairable }) => isRepairable) && !repair) {
    session.say("Nothing was changed; --repair makes good what is marked so.");
  }
  if (differences.some(isMarked)) session.say("The next sweep publishes the marked jobs.");
  if (left.length > 0) throw new FailedError(`${countOf(left.length)} left.`);
}

const countOf = (count: number): string =>
  count === 1 ? "1 difference is" : `${count} differences are`;

const isMarked = ({ kind, isRepaired }: Shown["differences"][number]): boolean =>
  isRepaired && (kind === "dead_message" || kind === "lost_message");

function textOf({ paint }: Session, { differences, examined }: Shown): string {
  const { deadMessages, dueJobs, loggedMessages, schedules } = examined;
  const counts = [
    `dead letters: ${deadMessages}`,
    `due jobs: ${dueJobs}`,
    `messages in the log: ${loggedMessages}`,
    `schedules: ${schedules}`,
  ];
  const looked = `Looked at ${counts.join(", ")}.\n`;
  if (differences.length === 0) return `The database and QStash agree.\n${looked}`;
  const rows = differences.slice(0, SHOWN_MAX).map((each): Cell[] => {
    const named = "scheduleId" in each ? each.scheduleId : each.jobId;
    return [each.kind, named ?? "–", stateOf(each), each.detail];
  });
  const more = differences.length - rows.length;
  const rest = more > 0 ? `and ${more} more: --json shows all\n` : "";
  return `${table(paint, ["DIFFERENCE", "JOB OR SCHEDULE", "REPAIR", "WHAT"], rows)}${rest}${looked}`;
}

function stateOf({ isRepaired, isRepairable }: Shown["differences"][number]): Cell {
  if (isRepaired) return { text: "done", colour: "green" };
  return isRepairable ? { text: "--repair", colour: "yellow" } : { text: "by hand", colour: "red" };
}
