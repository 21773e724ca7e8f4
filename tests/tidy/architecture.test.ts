import path from "node:path";
import { describe, expect, test } from "vitest";
import { TRANSITIONS } from "../../src/core/transitions.js";
import { sqlTextsOf, WRITE } from "./statements.js";
import { filesIn, readText } from "./tree.js";

/** Gives the text below a heading of the second level. */
function chapter(heading: string): string {
  const [, rest = ""] = readText("ARCHITECTURE.md").split(`\n## ${heading}\n`);
  return rest.split("\n## ")[0] ?? "";
}

describe("the architecture is described as it is", () => {
  test("the diagram has the state machine's transitions, and no others", () => {
    const arrows = [...chapter("States").matchAll(/^ {2}(\w+) --> (\w+)/gm)];
    const drawn = arrows.map(([, from, to]) => `${from} ${to}`);
    const coded = Object.entries(TRANSITIONS).flatMap(([from, events]) =>
      Object.values(events).flatMap((states) => states.map((to) => `${from} ${to}`)),
    );
    expect([...new Set(drawn)].toSorted()).toEqual([...new Set(coded)].toSorted());
  });

  test("every statement that changes rows has its guard in the table, and none that does not exist", () => {
    const rows = chapter("Who may change what, under which guard").matchAll(
      /^\| [^|]+ \| ([^|]+) \| ([^|]+) \|/gm,
    );
    const told = [...rows].flatMap(([, statements = ""]) =>
      [...statements.matchAll(/`([\w-]+)`/g)].map(([, name = ""]) => name),
    );
    const writing = filesIn(["src/storage/sql"])
      .filter((file) => sqlTextsOf(file).some(({ text }) => WRITE.test(text)))
      .map((file) => path.basename(file.path, ".ts"));
    expect([...new Set(told)].toSorted()).toEqual(writing.toSorted());
  });
});
