/** `antrean doctor`: what keeps this deployment from working, and what to do about it. */

import type { Command } from "commander";
import { type Config, ConfigError, readConfig } from "../../config.js";
import { checkApplication } from "../checks/application.js";
import { checkDelivery } from "../checks/delivery.js";
import type { Finding } from "../checks/finding.js";
import { checkPublicUrl } from "../checks/public-url.js";
import { checkQstash } from "../checks/qstash.js";
import { checkReconcile } from "../checks/reconcile.js";
import { FailedError } from "../io.js";
import type { Colour } from "../paint.js";
import type { Action, Session } from "../session.js";

const MARKS: Record<Finding["state"], { mark: string; colour: Colour }> = {
  ok: { mark: "✓", colour: "green" },
  warning: { mark: "!", colour: "yellow" },
  fault: { mark: "✗", colour: "red" },
};

export function addDoctor(program: Command, action: Action): void {
  program
    .command("doctor")
    .description("Check the deployment's environment and everything that it leads to")
    .option("--no-probe", "without the message that QStash delivers to prove its signature")
    .addHelpText(
      "after",
      "\nUses the deployment's own environment (DATABASE_URL, QSTASH_URL, …) and changes nothing:\n" +
        "the probe is a message that the deployment refuses once its signature has been accepted.\n" +
        "\nExample:\n  $ vercel env pull .env.production && antrean doctor --env-file .env.production",
    )
    .action(action(examine));
}

async function examine(session: Session, { probe }: { probe: boolean }): Promise<void> {
  const findings = await findAll(session, probe);
  session.show(findings, (shown) => shown.map((each) => textOf(session, each)).join(""));
  const faults = findings.filter(({ state }) => state === "fault").length;
  if (faults > 0) throw new FailedError(`${faults} of ${findings.length} checks failed.`);
}

async function findAll(session: Session, probe: boolean): Promise<Finding[]> {
  let config: Config;
  try {
    config = readConfig(session.env, "node");
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    // Nothing else can be asked with half an environment.
    return error.faults.map((detail) => ({ check: "environment", state: "fault", detail }));
  }
  const found = await Promise.all([
    checkApplication(session, config),
    checkQstash(session, config),
    checkPublicUrl(session, config),
  ]);
  const detail = `complete; ${config.appName} at ${config.publicUrl}`;
  const environment: Finding = { check: "environment", state: "ok", detail };
  const findings = [environment, ...found.flat(), cronSecret(config)];
  const [application, qstash, publicUrl] = found;
  // Both sides must answer before they can be compared.
  const isThere = (all: Finding[], wanted: string) =>
    all.some(({ check, state }) => check === wanted && state === "ok");
  if (isThere(application, "migrations") && isThere(qstash, "qstash token")) {
    findings.push(await checkReconcile(session, config));
  }
  // What a probe would find is known when QStash takes no message, or cannot get there.
  const isPointless = [...qstash, ...publicUrl].some(
    ({ check, state }) => state === "fault" && (check === "qstash token" || check === "public url"),
  );
  if (probe && !isPointless) findings.push(await checkDelivery(session, config));
  return findings;
}

function cronSecret({ cronSecret: secret }: Config): Finding {
  const check = "cron secret";
  if (secret) return { check, state: "ok", detail: "CRON_SECRET is set" };
  return {
    check,
    state: "warning",
    detail: "CRON_SECRET is not set",
    advice: "Only QStash can call the sweep then; Vercel Cron and curl need the secret.",
  };
}

function textOf({ paint }: Session, { check, state, detail, advice }: Finding): string {
  const { mark, colour } = MARKS[state];
  const line = `${paint(colour, mark)} ${check.padEnd(14)}  ${detail}\n`;
  return advice ? `${line}${" ".repeat(18)}${paint("dim", `→ ${advice}`)}\n` : line;
}
