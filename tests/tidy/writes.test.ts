import path from "node:path";
import { describe, expect, test } from "vitest";
import { sqlTextsOf, WRITE } from "./statements.js";
import { placeOf, visit } from "./syntax.js";
import { filesIn, type SourceFile } from "./tree.js";

describe("rows are changed by the statements of storage/sql and nothing else", () => {
  const EXCEPTIONS: Record<string, string> = {
    "src/storage/fragments.ts": "the history row that two statements write about a lost attempt",
    "src/storage/migrate.ts": "the journal of migrations, which is there before any table of ours",
  };

  function faults(file: SourceFile): string[] {
    if (file.path.startsWith("src/storage/sql/") || file.path in EXCEPTIONS) return [];
    const found: string[] = [];
    const check = (text: string, node: { start: number }): void => {
      if (WRITE.test(text)) found.push(placeOf(file, node));
    };
    visit(file, {
      TemplateLiteral: (node) => check(node.quasis.map(({ value }) => value.raw).join(""), node),
      Literal: (node) => check(typeof node.value === "string" ? node.value : "", node),
      MemberExpression: (node) => {
        const name = node.property.type === "Identifier" ? node.property.name : "";
        if (/^onConflictDo/.test(name)) found.push(placeOf(file, node));
      },
    });
    return found;
  }

  test("in all of src", () => {
    expect(filesIn(["src"]).flatMap(faults)).toEqual([]);
  });

  test("control: writes elsewhere are found, prose is not", () => {
    const texts = [
      "db.run(sql`update jobs j set status = 'queued'`);",
      'sql.query("delete from jobs");',
      "const cte = sql`x as (insert into jobs (id) values (1))`;",
      "db.insert(jobs).values(job).onConflictDoNothing();",
    ];
    for (const text of texts) expect(faults({ path: "src/http/a.ts", text })).toHaveLength(1);
    expect(faults({ path: "src/http/a.ts", text: 'log("update of a job set");' })).toEqual([]);
  });
});

describe("a write of many rows is bounded and waits for nobody", () => {
  /** Statements that write one row, or rows that their caller names one by one. */
  const NAMED_ROWS: Record<string, string> = {
    "begin-effect": "the job's row and the effect's",
    cancel: "by job id",
    "change-schedule": "by schedule, and its slots in their order",
    create: "the request's jobs, waited for in one order",
    "create-schedule": "by tenant and name",
    "end-effect": "by job id and name",
    enqueue: "by job id or dedupe slot",
    finish: "by job id and lock token",
    heartbeat: "by job id and lock token",
    "make-slots": "the slots of a plan, which is bounded",
    "mark-alert-told": "by id",
    "mark-hopped": "by job id",
    "mark-unpublished": "the failed messages, one by one where a row is locked",
    "record-sweep": "the only row",
    replay: "by job id",
    "run-now": "by job id",
    "run-schedule": "by schedule",
    "settle-effect": "by job id and name",
    "type-states": "by type",
  };
  const statements = filesIn(["src/storage/sql"]);
  const planted = (text: string): SourceFile => ({ path: "src/storage/sql/planted.ts", text });
  const stemOf = (file: SourceFile): string => path.basename(file.path, ".ts");
  const sqlOf = (file: SourceFile): string =>
    sqlTextsOf(file)
      .map(({ text }) => text)
      .join("\n");

  function faults(file: SourceFile): string[] {
    const sql = sqlOf(file);
    if (!WRITE.test(sql) || stemOf(file) in NAMED_ROWS) return [];
    return [
      ...(/\blimit\b/i.test(sql) ? [] : [`${file.path} writes without a limit`]),
      ...(/\bskip locked\b/i.test(sql) ? [] : [`${file.path} waits for locked rows`]),
    ];
  }

  test("in storage/sql", () => {
    expect(statements.flatMap(faults)).toEqual([]);
  });

  test("no exception outlives its cause", () => {
    const writing = statements.filter((file) => WRITE.test(sqlOf(file))).map(stemOf);
    expect(Object.keys(NAMED_ROWS).filter((stem) => !writing.includes(stem))).toEqual([]);
  });

  test("control: an unbounded write and one that waits are found", () => {
    expect(faults(planted("sql`delete from jobs where finished_at < now()`"))).toHaveLength(2);
    const waiting = "sql`with old as (select id from jobs limit 9 for update) delete from jobs`";
    expect(faults(planted(waiting))).toEqual(["src/storage/sql/planted.ts waits for locked rows"]);
    const lock = "const lock = sql`for update skip locked`;";
    expect(
      faults(planted(`${lock} sql\`delete from jobs where id in (select 1 limit 9 \${lock})\``)),
    ).toEqual([]);
  });
});
