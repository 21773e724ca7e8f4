/** `antrean effects`: side effects of which nobody but a human knows how they ended. */

import type { Command } from "commander";
import { UsageError } from "../io.js";
import { checkJson, withJson } from "../json-input.js";
import type { Action, Session } from "../session.js";

interface SettleOptions {
  done?: boolean;
  notDone?: boolean;
  result?: string;
  reason: string;
}

export function addEffects(program: Command, action: Action): void {
  const group = program.command("effects").description("The ledger of side effects");
  group
    .command("settle <job-id> <effect>")
    .description("Say how an effect ended whose outcome is unknown; then replay the job")
    .option("--done", "it happened: it is not run again")
    .option("--not-done", "it did not happen: it is run again")
    .option("--result <json>", "with --done: what later attempts get as its result")
    .requiredOption("--reason <text>", "how you know")
    .addHelpText(
      "after",
      "\nExample:\n  $ antrean effects settle <job-id> charge --done --reason 'in the bank statement'",
    )
    .action(action(settle));
}

async function settle(
  session: Session,
  jobId: string,
  effect: string,
  { done = false, notDone = false, result, reason }: SettleOptions,
): Promise<void> {
  if (done === notDone) throw new UsageError("Give either --done or --not-done.");
  if (notDone && result !== undefined) throw new UsageError("--result goes with --done.");
  const path = `/api/jobs/${encodeURIComponent(jobId)}/effects/${encodeURIComponent(effect)}/settle`;
  const members = { outcome: done ? "done" : "not_done", reason };
  const resultText = result === undefined ? undefined : checkJson(result, "--result");
  const body = withJson(members, "result", resultText);
  const answer = await session.api().call<{ outcome: string }>({ method: "POST", path, body });
  session.show(answer, ({ outcome }) => `${jobId} ${effect}: ${outcome}\n`);
}
