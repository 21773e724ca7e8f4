/** `antrean sweep`: one sweep, by the deployment or by this process. */

import type { Command } from "commander";
import { createApi } from "../api.js";
import { FailedError, UsageError } from "../io.js";
import type { Action, Session } from "../session.js";

/** A sweep may be allowed far more than the 20 seconds that it takes by default. */
const SWEEP_SECONDS = 60;

type Report = Record<string, number | boolean | string[]>;

export function addSweep(program: Command, action: Action): void {
  program
    .command("sweep")
    .description("Do one bounded sweep (CRON_SECRET)")
    .option("--local", "in this process, over DATABASE_URL and QSTASH_URL")
    .action(action(sweep));
}

async function sweep(session: Session, { local }: { local?: boolean }): Promise<void> {
  const report = await (local ? sweepHere(session) : sweepThere(session));
  session.show(report, reportText);
  const failed = report.failedSteps;
  if (Array.isArray(failed) && failed.length > 0) {
    throw new FailedError(`These steps failed: ${failed.join(", ")}.`);
  }
}

async function sweepHere(session: Session): Promise<Report> {
  const writeLog = (line: string): void => void session.io.stderr.write(`${line}\n`);
  return { ...(await (await session.application(writeLog)).sweep()) };
}

async function sweepThere(session: Session): Promise<Report> {
  const secret = session.env.CRON_SECRET;
  if (!secret) throw new UsageError("CRON_SECRET is missing; it admits to the sweep.");
  const api = createApi({ url: session.url(), apiKey: secret }, session.io);
  const sweepCall = { method: "POST", path: "/api/sweep", isRepeatable: true } as const;
  return api.call({ ...sweepCall, waitSeconds: SWEEP_SECONDS });
}

/** What did not happen is not worth a line. */
function reportText(report: Report): string {
  const counts = Object.entries(report).filter(
    ([, value]) => typeof value === "number" && value > 0,
  );
  const done = counts.map(([name, value]) => `${wordsOf(name)}: ${value}`);
  if (Array.isArray(report.refusedTypes) && report.refusedTypes.length > 0) {
    done.push(`types that QStash refuses: ${report.refusedTypes.join(", ")}`);
  }
  if (done.length === 0) done.push("nothing to do");
  if (report.more) done.push("there is more: sweep again");
  return `${done.join("\n")}\n`;
}

function wordsOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
