import { describe, expect, test } from "vitest";
import { sqlTextsOf } from "./statements.js";
import { placeOf, usesOf } from "./syntax.js";
import { filesIn, type SourceFile } from "./tree.js";

const src = filesIn(["src"]);

describe("no decision depends on the clock of a function instance (I4)", () => {
  const CLOCKS = ["Date.now", "new Date()", "Date()", "performance.now"];

  /** Places that read an instance's clock, and why no decision about a job is made of it. */
  const EXCEPTIONS: Record<string, string> = {
    "src/cli/main.ts Date.now": "doctor compares this machine's clock with the database's",
    "src/dashboard/create-dashboard.tsx Date.now":
      "the end of a session, and how long ago things were",
    "src/engine/execute.ts performance.now": "how long the attempt took, for the log",
    "src/engine/run.ts Date.now": "turns the instant of a RetryAfterError into a delay",
    "src/engine/resolve-job.ts Date.now": "sanity bound on input, a year ahead",
    "src/engine/begin-sweep.ts performance.now": "how long this very call may go on",
    "src/entry/platform.ts new Date()": "time of a log line",
    "src/http/create-app.ts performance.now": "how long the request took, for the log",
    "src/jobs/http_request.ts new Date()": "time in a webhook's signature",
    "src/jobs/outbound/retry-after.ts Date.now": "stands in where an answer bears no Date",
    "src/telemetry/log.ts new Date()": "time of a log line",
  };

  const readsOf = (file: SourceFile) => usesOf(file).filter(({ use }) => CLOCKS.includes(use));
  const faults = (file: SourceFile): string[] =>
    readsOf(file)
      .filter(({ use }) => !(`${file.path} ${use}` in EXCEPTIONS))
      .map((each) => `${placeOf(file, each)} ${each.use}`);

  test("in all of src", () => {
    expect(src.flatMap(faults)).toEqual([]);
  });

  test("no exception outlives its cause", () => {
    const reads = src.flatMap((file) => readsOf(file).map(({ use }) => `${file.path} ${use}`));
    expect(Object.keys(EXCEPTIONS).filter((each) => !reads.includes(each))).toEqual([]);
  });

  test("control: clocks are found, instants that were given are not", () => {
    const text = "Date.now(); new Date(); new Date(text); performance.now(); setClock(Date.now);";
    expect(faults({ path: "src/engine/claim.ts", text })).toHaveLength(4);
  });
});

describe("SQL knows one time, that of its transaction: now()", () => {
  const OTHER_CLOCK =
    /\b(?:clock_timestamp|statement_timestamp|transaction_timestamp|timeofday|current_timestamp|current_date|current_time|localtimestamp|localtime)\b/i;
  const DEFAULT_CLOCK = /\bdefault\s+(?:now\(\)|current_)/i;

  const faults = (file: SourceFile): string[] =>
    (file.path.endsWith(".sql") ? [{ text: file.text, start: 0 }] : sqlTextsOf(file))
      .filter(({ text }) => OTHER_CLOCK.test(text))
      .map((each) => placeOf(file, each));

  /** A column that dates itself would be a second place where an instant is decided. */
  function defaultFaults(file: SourceFile): string[] {
    if (file.path.endsWith(".sql")) return DEFAULT_CLOCK.test(file.text) ? [file.path] : [];
    return /\.defaultNow\(|\.\$(?:default|defaultFn|onUpdate|onUpdateFn)\(/.test(file.text)
      ? [file.path]
      : [];
  }

  const migrations = filesIn(["drizzle"], [".sql"]);
  const schema = src.filter(({ path }) => path === "src/storage/schema.ts");

  test("in every statement and migration", () => {
    expect([...src, ...migrations].flatMap(faults)).toEqual([]);
  });

  test("no column has a clock for its default", () => {
    expect([...schema, ...migrations].flatMap(defaultFaults)).toEqual([]);
  });

  test("control: other clocks and defaults are found", () => {
    const text =
      "sql`select now()`; sql`select clock_timestamp()`; sql`values (current_timestamp)`;";
    expect(faults({ path: "src/storage/a.ts", text })).toHaveLength(2);
    expect(defaultFaults({ path: "a.ts", text: 'instant("at").defaultNow()' })).toHaveLength(1);
    expect(
      defaultFaults({ path: "drizzle/1.sql", text: "at timestamptz DEFAULT now() NOT NULL" }),
    ).toHaveLength(1);
  });
});

describe("core is pure: the same arguments, the same answer", () => {
  const IMPURE =
    /^(?:Date\.now|new Date\(\)|Date\(\)|performance\.now|Math\.random|crypto\.(?!subtle$)\w+|fetch\(\)|console\.\w+|set(?:Timeout|Interval|Immediate)\(\)|queueMicrotask\(\)|globalThis\.\w+)$/;
  const faults = (file: SourceFile): string[] =>
    usesOf(file)
      .filter(({ use }) => IMPURE.test(use))
      .map((each) => `${placeOf(file, each)} ${each.use}`);

  test("in all of core", () => {
    expect(filesIn(["src/core"]).flatMap(faults)).toEqual([]);
  });

  test("control: clock, randomness, network, timers and console are found; hashing is not", () => {
    const impure =
      "Date.now(); Math.random(); crypto.getRandomValues(a); crypto.randomUUID(); fetch(url); console.log(1); setTimeout(f, 1);";
    expect(faults({ path: "src/core/a.ts", text: impure })).toHaveLength(7);
    expect(faults({ path: "src/core/a.ts", text: "crypto.subtle.digest(a, b);" })).toEqual([]);
  });
});
