import path from "node:path";
import { describe, expect, test } from "vitest";
import { sendingCallsOf, sentTextsOf, sqlTextsOf } from "./statements.js";
import { exportedFunctionsOf, placeOf, usesOf, visit } from "./syntax.js";
import { filesIn, type SourceFile } from "./tree.js";

const src = filesIn(["src"]);
const statements = filesIn(["src/storage/sql"]);
const planted = (text: string, name = "planted"): SourceFile => ({
  path: `src/storage/sql/${name}.ts`,
  text,
});

const WRITE =
  /\b(?:insert\s+into\s+\w+|delete\s+from\s+\w+|update\s+\w+(?:\s+(?:as\s+)?\w+)?\s+set)\b/i;

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
    expect(src.flatMap(faults)).toEqual([]);
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

describe("no interactive transaction: the driver has none, and nothing may be decided between", () => {
  function faults(file: SourceFile): string[] {
    const found: string[] = [];
    visit(file, {
      CallExpression: (node) => {
        const { callee } = node;
        if (callee.type !== "MemberExpression" || callee.property.type !== "Identifier") return;
        // A list of statements is one fixed batch; anything else is a conversation.
        const isBatch = node.arguments[0]?.type === "ArrayExpression";
        if (callee.property.name === "transaction" && !isBatch) found.push(placeOf(file, node));
      },
      TemplateLiteral: (node) => {
        const text = node.quasis.map(({ value }) => value.raw).join("");
        if (isTransactionControl(text)) found.push(placeOf(file, node));
      },
      Literal: (node) => {
        if (isTransactionControl(String(node.value))) found.push(placeOf(file, node));
      },
    });
    return found;
  }

  function isTransactionControl(text: string): boolean {
    const command = text.replace(/^\s*\/\*.*?\*\//s, "").trim();
    return /^(?:begin|commit|rollback|savepoint \w+|start transaction)\b(?: *;.*)?$/is.test(
      command,
    );
  }

  test("in all of src", () => {
    expect(src.flatMap(faults)).toEqual([]);
  });

  test("control: a callback and transaction control are found, a batch is not", () => {
    const texts = [
      "await db.transaction(async (tx) => tx.run(sql`select 1`));",
      "await sql`begin`;",
      'await client.query("commit");',
      "await sql`/* x */ savepoint a`;",
    ];
    for (const text of texts) expect(faults(planted(text))).toHaveLength(1);
    expect(
      faults(planted('sql.transaction([sql`select 1`]); const verb = "begin-effect";')),
    ).toEqual([]);
  });
});

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

describe("nothing is read and then written", () => {
  test("each function of storage/sql sends one statement or one batch", () => {
    expect(statements.filter((file) => !sendsOnce(file)).map(({ path }) => path)).toEqual([]);
  });

  function sendsOnce(file: SourceFile): boolean {
    return sendingCallsOf(file).length === exportedFunctionsOf(file).length;
  }

  const READS = ["read", "findReplay", "listTypeStates", "countReplayable", "health"];
  const EXCEPTIONS: Record<string, string> = {
    "src/engine/submit.ts": "looks for a stored response where nothing will be created",
    "src/engine/replay.ts": "reads a job's type, which never changes; a dry run only counts",
  };

  function faults(file: SourceFile): string[] {
    const calls = storeCallsOf(file);
    const reads = calls.filter((name) => READS.includes(name));
    if (reads.length === 0 || reads.length === calls.length) return [];
    return [`${file.path} calls ${calls.join(", ")}`];
  }

  function storeCallsOf(file: SourceFile): string[] {
    const names: string[] = [];
    visit(file, {
      MemberExpression: ({ object, property }) => {
        const owner = object.type === "MemberExpression" ? object.property : object;
        if (owner.type !== "Identifier" || owner.name !== "store") return;
        if (property.type === "Identifier") names.push(property.name);
      },
    });
    return names;
  }

  const callers = filesIn(["src/engine", "src/http", "src/dashboard"]);

  test("no verb or route reads the store and writes it", () => {
    expect(callers.filter(({ path }) => !(path in EXCEPTIONS)).flatMap(faults)).toEqual([]);
  });

  test("no exception outlives its cause", () => {
    const excused = callers.filter((file) => faults(file).length > 0).map(({ path }) => path);
    expect(Object.keys(EXCEPTIONS).filter((path) => !excused.includes(path))).toEqual([]);
  });

  test("control: two statements, and a read before a write, are found", () => {
    const twice = `export async function planted(db) {
      const [row] = await db.run(sql\`select 1\`);
      if (row) await db.run(sql\`select 2\`);
    }`;
    expect(sendsOnce(planted(twice))).toBe(false);
    const text = "const job = await ports.store.read(id, actor); if (job) await store.cancel(id);";
    expect(faults({ path: "src/engine/a.ts", text })).toEqual([
      "src/engine/a.ts calls read, cancel",
    ]);
    const readsOnly = "ports.store.read(id, actor); ports.store.listTypeStates();";
    expect(faults({ path: "src/engine/a.ts", text: readsOnly })).toEqual([]);
  });
});

describe("a write of many rows is bounded and waits for nobody", () => {
  /** Statements that write one row, or rows that their caller names one by one. */
  const NAMED_ROWS: Record<string, string> = {
    "begin-effect": "the job's row and the effect's",
    cancel: "by job id",
    create: "the request's jobs, waited for in one order",
    "end-effect": "by job id and name",
    finish: "by job id and lock token",
    heartbeat: "by job id and lock token",
    "mark-hopped": "by job id",
    "mark-unpublished": "the failed messages, one by one where a row is locked",
    "record-sweep": "the only row",
    replay: "by job id",
    "run-now": "by job id",
    "settle-effect": "by job id and name",
    "type-states": "by type",
  };
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

test("control: the rules above see the statements they are about", () => {
  expect(statements.flatMap(sendingCallsOf).length).toBeGreaterThan(20);
  expect(src.flatMap(usesOf).some(({ use }) => use === "db.batch")).toBe(true);
});
