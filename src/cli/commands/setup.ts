/** `antrean setup`: the QStash schedule that calls the sweep. */

import type { Command } from "commander";
import { readConfig } from "../../config.js";
import { FailedError, UsageError } from "../io.js";
import { createQstash, QstashError, sweepUrl } from "../qstash.js";
import type { Action, Session } from "../session.js";
import { sweepInterval } from "../sweep-interval.js";

export function addSetup(program: Command, action: Action): void {
  program
    .command("setup")
    .description("Create or update the QStash schedule of the sweep")
    .option("--every <interval>", "1m, 5m, 15m, 1h …; what divides an hour or a day", "15m")
    .addHelpText(
      "after",
      "\nUses the deployment's own environment; to repeat it changes nothing.\n" +
        "A sweep every 5 minutes keeps a free Neon database awake all month.",
    )
    .action(action(setUp));
}

async function setUp(session: Session, { every }: { every: string }): Promise<void> {
  const interval = sweepInterval(every);
  if (!interval) throw new UsageError(`--every ${every} must divide an hour or a day: 15m, 1h.`);
  const config = readConfig(session.env, "node");
  const qstash = createQstash(config, session.io);
  const { cron, seconds } = interval;
  try {
    const before = await qstash.sweepSchedule();
    const scheduleId = await qstash.putSweepSchedule(cron);
    const answer = { scheduleId, cron, destination: sweepUrl(config), created: !before };
    session.show(answer, ({ destination, created }) => {
      return `${created ? "Created" : "Updated"} ${scheduleId}: ${cron} → ${destination}\n`;
    });
  } catch (error) {
    if (!(error instanceof QstashError)) throw error;
    throw new FailedError(`QStash refused with ${error.status}: ${error.message}`);
  }
  if (seconds !== config.sweepIntervalSeconds) {
    session.say(`Set SWEEP_INTERVAL_SECONDS=${seconds} in the deployment, so that it knows.`);
  }
}
