/**
 * The record outside the database: one file to which every process appends.
 *
 * Each line is one write to a file opened for appending, so the lines of all processes stand in one
 * order that is true to time, and a killed process loses nothing that it had written.
 */

import { openSync, readFileSync, writeSync } from "node:fs";

/** What was seen; `job`, `attempt` and `token` name an attempt, `call` a call and its answer. */
export type JournalEntry =
  | { is: "boot"; process: string }
  | { is: "claimed"; process: string; job: string; attempt: number; token: string; by: string }
  /** A call that only the holder of the lock token may succeed with. */
  | { is: "held_call"; call: string; token: string; method: string }
  | { is: "held_answer"; call: string; holds: boolean }
  | { is: "finished"; job: string; attempt: number; token: string; outcome: string; kind: string }
  | { is: "started"; process: string; job: string; attempt: number; nonce: string }
  | { is: "ended"; job: string; attempt: number; nonce: string; how: string }
  /** Asks the ledger whether it may run. */
  | { is: "effect_asked"; job: string; name: string; token: string }
  | { is: "effect_ran"; job: string; attempt: number; name: string }
  /** Sent to the ledger, which may have taken it although no answer came. */
  | { is: "effect_told"; job: string; name: string; state: "done" | "not_done" }
  /** The ledger has it. */
  | { is: "effect_known"; job: string; name: string; state: "done" | "not_done" }
  | { is: "swept"; counts: Record<string, number> }
  /** A log line of the application that no fault of ours explains. */
  | { is: "complaint"; process: string; text: string };

export interface Journal {
  write(entry: JournalEntry): void;
}

/** Opens the file for appending. */
export function openJournal(path: string): Journal {
  const file = openSync(path, "a");
  return { write: (entry) => void writeSync(file, `${JSON.stringify(entry)}\n`) };
}

/** Reads everything, in order; a process that was killed may have left half a line. */
export function readJournal(path: string): JournalEntry[] {
  const entries: JournalEntry[] = [];
  for (const line of readFileSync(path, "utf8").split("\n")) {
    try {
      if (line !== "") entries.push(JSON.parse(line) as JournalEntry);
    } catch {
      // Half a line says nothing.
    }
  }
  return entries;
}
