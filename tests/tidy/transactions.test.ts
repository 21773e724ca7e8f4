import { describe, expect, test } from "vitest";
import { sendingCallsOf } from "./statements.js";
import { exportedFunctionsOf, placeOf, visit } from "./syntax.js";
import { filesIn, type SourceFile } from "./tree.js";

const planted = (text: string): SourceFile => ({ path: "src/storage/sql/planted.ts", text });

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
    expect(filesIn(["src"]).flatMap(faults)).toEqual([]);
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

describe("nothing is read and then written", () => {
  test("each function of storage/sql sends one statement or one batch", () => {
    const files = filesIn(["src/storage/sql"]);
    expect(files.filter((file) => !sendsOnce(file)).map(({ path }) => path)).toEqual([]);
    // A control of its own: a rule that sees no calls would find no fault.
    expect(files.flatMap(sendingCallsOf).length).toBeGreaterThan(20);
  });

  /** Functions that only give a statement, for somebody else to send. */
  const SEND_NOTHING: Record<string, number> = { "src/storage/sql/enqueue.ts": 1 };

  function sendsOnce(file: SourceFile): boolean {
    const senders = exportedFunctionsOf(file).length - (SEND_NOTHING[file.path] ?? 0);
    return sendingCallsOf(file).length === senders;
  }

  const READS = [
    "read",
    "findReplay",
    "listTypeStates",
    "countReplayable",
    "countUnpublished",
    "findOverdue",
    "health",
    "readSchedules",
    "traceJobs",
  ];
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
