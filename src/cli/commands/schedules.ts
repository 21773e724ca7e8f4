/** `antrean schedules`: recurring jobs. */

import type { Command } from "commander";
import type { AcceptedJob } from "../../client/client.js";
import { type JsonOptions, requireJsonText, withJson } from "../json-input.js";
import { instant, table } from "../paint.js";
import {
  pathOf,
  type Schedule,
  type ScheduleDetail,
  showDetail,
  type TenantOption,
} from "../schedule-text.js";
import type { Action, Session } from "../session.js";
import { addEditSchedule } from "./edit-schedule.js";

interface CreateOptions extends JsonOptions {
  cron: string;
  type: string;
  timeZone?: string;
  missed?: string;
  paused?: boolean;
}

export function addSchedules(program: Command, action: Action): void {
  const group = program.command("schedules").description("Recurring jobs");
  const ofOne = (verb: string, description: string) =>
    group
      .command(`${verb} <name>`)
      .description(description)
      .option("--tenant <name>", "whose it is, where an admin sees several of one name");
  group.command("list").description("List the schedules").action(action(listSchedules));
  ofOne("show", "Show a schedule and its next times").action(action(showSchedule));
  group
    .command("create <name>")
    .description("Make a recurring job")
    .requiredOption("--cron <expression>", "five fields: minute hour day month weekday")
    .requiredOption("--type <type>", "of its jobs")
    .option("--payload <json>", "of its jobs")
    .option("--file <file>", "the payload's file; without both, standard input is read")
    .option("--time-zone <name>", "IANA name, such as Asia/Jakarta (default: UTC)")
    .option("--missed <policy>", "skip or run_once: what becomes of slots no sweep was there for")
    .option("--paused", "it starts when it is resumed")
    .addHelpText(
      "after",
      "\nExample:\n  $ antrean schedules create nightly --cron '0 2 * * *' --type cleanup --payload '{}'",
    )
    .action(action(createSchedule));
  addEditSchedule(ofOne("edit", "Change what recurs, or when"), action);
  ofOne("pause", "Hold a schedule back").action(action(switchTo("pause")));
  ofOne("resume", "Let a paused schedule go on").action(action(switchTo("resume")));
  ofOne("run", "Create one of its jobs now").action(action(runSchedule));
  ofOne("delete", "End a schedule; its jobs not yet started are cancelled").action(
    action(deleteSchedule),
  );
}

async function listSchedules(session: Session): Promise<void> {
  const { items } = await session.api().get<{ items: Schedule[] }>("/api/schedules");
  session.show(items, (schedules) =>
    schedules.length === 0
      ? "No schedules.\n"
      : table(
          session.paint,
          ["NAME", "CRON", "TIME ZONE", "TYPE", "NEXT (UTC)", "LAST", "TENANT"],
          schedules.map((each) => [
            each.name,
            each.cron,
            each.timeZone,
            each.type,
            each.enabled ? instant(each.nextRunAt) : { text: "paused", colour: "yellow" },
            instant(each.lastRunAt),
            each.tenant,
          ]),
        ),
  );
}

async function showSchedule(session: Session, name: string, options: TenantOption): Promise<void> {
  showDetail(session, await session.api().get<ScheduleDetail>(pathOf(name, "", options)));
}

async function createSchedule(
  session: Session,
  name: string,
  options: CreateOptions,
): Promise<void> {
  const { cron, type, timeZone, missed: missedRunPolicy, paused } = options;
  const schedule = { name, cron, type, timeZone, missedRunPolicy, enabled: !paused };
  const body = withJson(schedule, "payload", await requireJsonText(session.io, options));
  const create = { method: "POST", path: "/api/schedules", body } as const;
  showDetail(session, await session.api().call<ScheduleDetail>(create));
}

function switchTo(verb: "pause" | "resume") {
  return async (session: Session, name: string, options: TenantOption): Promise<void> => {
    const path = pathOf(name, `/${verb}`, options);
    const answer = await session.api().post<ScheduleDetail>(path);
    session.show(answer, ({ enabled }) => `${name} ${enabled ? "goes on" : "is paused"}\n`);
  };
}

async function runSchedule(session: Session, name: string, options: TenantOption): Promise<void> {
  const accepted = await session.api().post<AcceptedJob>(pathOf(name, "/run", options));
  session.show(accepted, ({ jobId, status }) => `${jobId}  ${status}\n`);
}

async function deleteSchedule(
  session: Session,
  name: string,
  options: TenantOption,
): Promise<void> {
  await session.api().delete(pathOf(name, "", options));
  session.show({ name, deleted: true }, () => `${name} is deleted\n`);
}
