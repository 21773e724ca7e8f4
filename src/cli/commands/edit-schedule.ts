/** `antrean schedules edit`: changes what was given, and leaves the rest as it is. */

import type { Command } from "commander";
import { UsageError } from "../io.js";
import { type JsonOptions, readJsonText, withJson } from "../json-input.js";
import { pathOf, type ScheduleDetail, showDetail, type TenantOption } from "../schedule-text.js";
import type { Action, Session } from "../session.js";

interface EditOptions extends JsonOptions, TenantOption {
  cron?: string;
  type?: string;
  timeZone?: string;
  missed?: string;
}

export function addEditSchedule(command: Command, action: Action): void {
  command
    .option("--cron <expression>", "five fields: minute hour day month weekday")
    .option("--type <type>", "of its jobs")
    .option("--payload <json>", "of its jobs")
    .option("--file <file>", "the payload's file; - is standard input")
    .option("--time-zone <name>", "IANA name, such as Asia/Jakarta")
    .option("--missed <policy>", "skip or run_once: what becomes of slots no sweep was there for")
    .addHelpText(
      "after",
      "\nIts jobs that have not started are cancelled; a paused one stays paused.\n" +
        "\nExample:\n  $ antrean schedules edit nightly --cron '30 2 * * *'",
    )
    .action(action(editSchedule));
}

async function editSchedule(
  session: Session,
  name: string,
  { cron, type, timeZone, missed: missedRunPolicy, ...options }: EditOptions,
): Promise<void> {
  const payload = await readJsonText(session.io, options);
  const changes = withoutAbsent({ cron, type, timeZone, missedRunPolicy });
  if (payload === undefined && Object.keys(changes).length === 0) {
    throw new UsageError(
      "Give what is to change: --cron, --type, --payload, --time-zone, --missed.",
    );
  }
  const path = pathOf(name, "", options);
  const api = session.api();
  // The API replaces a schedule as a whole; what was not given stays what it is now.
  const present = await api.get<ScheduleDetail>(path);
  const kept = {
    cron: present.cron,
    type: present.type,
    timeZone: present.timeZone,
    missedRunPolicy: present.missedRunPolicy,
  };
  const edited = withJson(
    { ...kept, ...changes },
    "payload",
    payload ?? JSON.stringify(present.payload),
  );
  showDetail(session, await api.call<ScheduleDetail>({ method: "PUT", path, body: edited }));
}

function withoutAbsent(options: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(options).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
