/** Text for human eyes: colours where a terminal shows them, tables, and nothing that controls it. */

import { styleText } from "node:util";

export type Colour = "red" | "green" | "yellow" | "cyan" | "dim" | "bold";
export type Paint = (colour: Colour, text: string) => string;

/** Makes the painter; whether there are colours was decided by whoever knows the terminal. */
export function createPaint(colours: boolean): Paint {
  // Without validation: Node would ask about its own standard output, which need not be ours.
  return (colour, text) => (colours ? styleText(colour, text, { validateStream: false }) : text);
}

const STATUS_COLOURS: Record<string, Colour> = {
  completed: "green",
  processing: "cyan",
  failed: "yellow",
  dead_letter: "red",
  cancelled: "dim",
};

export function paintStatus(paint: Paint, status: string): string {
  const colour = STATUS_COLOURS[status];
  return colour ? paint(colour, status) : status;
}

/** Gives the text on one line; a job's error must not be able to move the cursor. */
export function plain(text: string): string {
  return text.replace(/\p{Cc}+/gu, " ");
}

/** Shortens a text to the number of characters. */
export function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

/** A text, or a text that is coloured after it was measured. */
export type Cell = string | { text: string; colour: Colour };

export function statusCell(status: string): Cell {
  const colour = STATUS_COLOURS[status];
  return colour ? { text: status, colour } : status;
}

/** Sets rows under their headings, two spaces between columns. */
export function table(paint: Paint, headings: string[], rows: Cell[][]): string {
  const textOf = (cell: Cell): string => plain(typeof cell === "string" ? cell : cell.text);
  const widths = headings.map((heading, at) =>
    Math.max(heading.length, ...rows.map((row) => textOf(row[at] ?? "").length)),
  );
  const line = (given: Cell[]): string => {
    const cells = given.slice(0, given.findLastIndex((cell) => textOf(cell) !== "") + 1);
    return cells
      .map((cell, at) => {
        // The last column needs no blanks behind it.
        const text = textOf(cell).padEnd(at < cells.length - 1 ? (widths[at] ?? 0) : 0);
        return typeof cell === "string" ? text : paint(cell.colour, text);
      })
      .join("  ");
  };
  const head = headings.map((text): Cell => ({ text, colour: "bold" }));
  return `${[head, ...rows].map(line).join("\n")}\n`;
}

/** Sets names beside their values; values that are not there are left out. */
export function fields(paint: Paint, entries: [name: string, value: string | null][]): string {
  const shown = entries.filter(([, value]) => value !== null && value !== "");
  const width = Math.max(...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${paint("dim", name.padEnd(width))}  ${value}\n`).join("");
}

/** `2026-07-01 12:00:05`, in UTC like everything that the service says; a dash for none. */
export function instant(text: string | null): string {
  return text === null ? "–" : text.slice(0, 19).replace("T", " ");
}
