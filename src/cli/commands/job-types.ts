/** `antrean types`: the job types of the deployment. */

import type { Command } from "commander";
import { type Cell, instant, table } from "../paint.js";
import type { Action, Session } from "../session.js";

interface TypeView {
  type: string;
  runsOn: string;
  maxAttempts: number;
  timeoutSeconds: number;
  flowControl: { parallelism?: number; rate?: number; periodSeconds?: number } | null;
  paused: boolean;
  pausedAt: string | null;
  pausedBy: string | null;
  pauseReason: string | null;
}

export function addTypes(program: Command, action: Action): void {
  const types = program.command("types").description("Job types: look, pause, resume");
  types.command("list").description("List the registered types").action(action(listTypes));
  types
    .command("pause <type>")
    .description("Hold a type back: its jobs are accepted and wait")
    .option("--reason <text>", "for whoever wonders")
    .action(action(switchTo("pause")));
  types
    .command("resume <type>")
    .description("Let a paused type go on")
    .option("--reason <text>", "for whoever wonders")
    .action(action(switchTo("resume")));
}

async function listTypes(session: Session): Promise<void> {
  const { items } = await session.api().get<{ items: TypeView[] }>("/api/types");
  session.show(items, (types) =>
    table(
      session.paint,
      ["TYPE", "RUNS ON", "TRIES", "TIMEOUT", "FLOW CONTROL", "STATE"],
      types.map((each) => [
        each.type,
        each.runsOn,
        String(each.maxAttempts),
        `${each.timeoutSeconds} s`,
        flowText(each.flowControl),
        stateCell(each),
      ]),
    ),
  );
}

function switchTo(verb: "pause" | "resume") {
  return async (session: Session, type: string, { reason }: { reason?: string }): Promise<void> => {
    const path = `/api/types/${encodeURIComponent(type)}/${verb}`;
    const answer = await session.api().post<TypeView>(path, { reason });
    session.show(answer, ({ paused }) => `${type} ${paused ? "is paused" : "goes on"}\n`);
  };
}

function flowText(limits: TypeView["flowControl"]): string {
  if (!limits) return "–";
  const { parallelism, rate, periodSeconds = 1 } = limits;
  const parts = [
    parallelism === undefined ? "" : `${parallelism} at once`,
    rate === undefined ? "" : `${rate} in ${periodSeconds} s`,
  ];
  return parts.filter(Boolean).join(", ");
}

function stateCell({ paused, pausedAt, pausedBy, pauseReason }: TypeView): Cell {
  if (!paused) return { text: "runs", colour: "green" };
  const why = pauseReason ? `: ${pauseReason}` : "";
  return { text: `paused ${instant(pausedAt)} by ${pausedBy ?? "–"}${why}`, colour: "yellow" };
}
