import path from "node:path";
import { describe, expect, test } from "vitest";
import { sendingCallsOf, sentTextsOf } from "./statements.js";
import { placeOf } from "./syntax.js";
import { filesIn, type SourceFile } from "./tree.js";

const statements = filesIn(["src/storage/sql"]);
const planted = (text: string): SourceFile => ({ path: "src/storage/sql/planted.ts", text });

describe("a statement opens with its name, so that a list of slow queries points at a file", () => {
  /** A file with several statements names each for what it does. */
  const OTHER_NAMES: Record<string, string[]> = {
    "replay-many": ["replay-many", "count-replayable"],
    "type-states": ["pause-type", "resume-type", "list-type-states"],
  };

  function faults(file: SourceFile): string[] {
    const stem = path.basename(file.path, ".ts");
    const allowed = OTHER_NAMES[stem] ?? [stem];
    return sendingCallsOf(file)
      .flatMap((call) => sentTextsOf(file, call))
      .filter(({ text }) => {
        const name = /^\/\* ([a-z-]+)(?:: [a-z]+)? \*\//.exec(text)?.[1];
        return name === undefined || !allowed.includes(name);
      })
      .map((sent) => `${placeOf(file, sent)} must begin with /* ${allowed.join(" or ")} */`);
  }

  test("in storage/sql", () => {
    expect(statements.flatMap(faults)).toEqual([]);
  });

  test("control: statements without their name are found, also behind a function", () => {
    const texts = [
      "db.run(sql`select 1`);",
      "db.run(sql`/* other */ select 1`);",
      "db.run(flag ? sql`/* planted */ select 1` : sql`select 2`);",
      "db.run(make()); function make() { return sql`select 1`; }",
      "db.batch([sql`/* planted: one */ select 1`, second()]); const second = () => sql`select 2`;",
      "db.run(elsewhere);",
    ];
    for (const text of texts) expect(faults(planted(text))).toHaveLength(1);
    const named = "db.run(make()); function make() { return sql`/* planted */ select 1`; }";
    expect(faults(planted(named))).toEqual([]);
  });
});
