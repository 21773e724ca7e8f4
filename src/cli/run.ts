/** `npx antrean`: reads a command, runs it, and gives its exit code. */

import { Command } from "commander";
import { addDeadLetters } from "./commands/dead-letters.js";
import { addDoctor } from "./commands/doctor.js";
import { addEffects } from "./commands/effects.js";
import { addTypes } from "./commands/job-types.js";
import { addJobs } from "./commands/jobs.js";
import { addMigrate } from "./commands/migrate.js";
import { addReconcile } from "./commands/reconcile.js";
import { addSchedules } from "./commands/schedules.js";
import { addSetup } from "./commands/setup.js";
import { addStats } from "./commands/stats.js";
import { addSweep } from "./commands/sweep.js";
import { addWork } from "./commands/work.js";
import type { Io } from "./io.js";
import { EXIT, reportError } from "./report-error.js";
import { actionsOf, type GlobalOptions } from "./session.js";

const EXAMPLES = `
Examples:
  $ antrean jobs create send_email --payload '{"to":"ada@example.com","subject":"Hi","text":"Hi"}'
  $ antrean jobs list --status dead_letter --watch
  $ antrean jobs tail 01981c1e-8d0c-7000-8000-000000000000
  $ antrean dead-letters replay --type send_email --yes
  $ antrean doctor

Settings come from flags, the environment or .env: ANTREAN_URL and ANTREAN_API_KEY;
migrate, setup, doctor, reconcile, work and sweep --local use the deployment's own environment.
Exit codes: 0 ok, 1 failed, 2 wrong usage.`;

/** Runs one command; everything it says goes to the given outputs. */
export async function run(argv: string[], io: Io): Promise<number> {
  // Read here, since a command that is written wrongly was not read by commander.
  const json = argv.includes("--json");
  const program = programOf(io, json);
  try {
    await program.parseAsync(argv, { from: "user" });
    return EXIT.ok;
  } catch (error) {
    return reportError(io, error, { ...program.opts<GlobalOptions>(), json });
  }
}

function programOf(io: Io, json: boolean): Command {
  const program = new Command("antrean")
    .description("Durable background jobs: look, act, operate.")
    .option("--url <url>", "where the API is (ANTREAN_URL)")
    .option("--api-key <secret>", "secret of an API key (ANTREAN_API_KEY)")
    .option("--env-file <file>", "settings as lines NAME=value (default: .env if it is there)")
    .option("--json", "answers as JSON, errors too")
    .option("--no-color", "no colours, as with NO_COLOR")
    .addHelpText("after", EXAMPLES)
    // Set before the commands are added, which take it over.
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      // Machines get their errors as JSON.
      writeErr: (text) => void (json || io.stderr.write(text)),
    })
    .showHelpAfterError("(--help shows what it takes)");
  const action = actionsOf(io);
  const groups = [addJobs, addDeadLetters, addEffects, addTypes, addStats, addSchedules, addSweep];
  const hosts = [addWork, addMigrate, addSetup, addDoctor, addReconcile];
  for (const add of [...groups, ...hosts]) add(program, action);
  return program;
}
