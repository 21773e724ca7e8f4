/** `antrean work`: runs jobs in this process, for types that are not published to QStash. */

import type { Command } from "commander";
import { FailedError } from "../io.js";
import { listed, wholeNumber } from "../parse-option.js";
import type { Action, Session } from "../session.js";

interface WorkOptions {
  types: string[];
  concurrency: number;
  poll: number;
}

const CONCURRENCY = { default: 4, max: 1000 } as const;
const POLL_SECONDS = 2;

export function addWork(program: Command, action: Action): void {
  program
    .command("work")
    .description('Claim and run jobs of types with runsOn: "worker"')
    .requiredOption("--types <types>", "which, by commas, most urgent first", listed)
    .option(
      "--concurrency <count>",
      "jobs at a time",
      wholeNumber(1, CONCURRENCY.max),
      CONCURRENCY.default,
    )
    .option(
      "--poll <seconds>",
      "how often to look when nothing is due",
      wholeNumber(1, 300),
      POLL_SECONDS,
    )
    .addHelpText(
      "after",
      "\nSIGTERM or Ctrl-C ends it when what runs has finished; a second one at once.\n" +
        "\nExample:\n  $ antrean work --types render_video,train_model --concurrency 2",
    )
    .action(action(work));
}

async function work(session: Session, { types, concurrency, poll }: WorkOptions): Promise<void> {
  const { stop } = session.io;
  const application = await session.application((line) => session.io.stdout.write(`${line}\n`));
  session.say(`Working on ${types.join(", ")}, ${concurrency} at a time.`);
  const sayStopping = (): void => session.say("Stopping: nothing new is claimed; what runs ends.");
  stop.addEventListener("abort", sayStopping, { once: true });
  try {
    await application.work({ types, concurrency, pollSeconds: poll, stop });
  } catch (error) {
    // The engine's word for a type that this deployment does not have.
    throw error instanceof TypeError ? new FailedError(error.message) : error;
  } finally {
    stop.removeEventListener("abort", sayStopping);
  }
  session.say("Stopped.");
}
