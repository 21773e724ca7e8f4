import { describe, expect, test } from "vitest";
import { LAYERS, layerOf, moduleOf } from "./layers.js";
import { camelName, exportedFunctionsOf, placeOf, visit } from "./syntax.js";
import { filesIn, PATHS, type SourceFile } from "./tree.js";

const TOP_FOLDERS = ["src", "dev", "drizzle", "tests", "bench", "docs", "examples", ".ci"];
const TOP_FILES = [
  ...["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", ".gitignore"],
  ...["package.json", "package-lock.json", "tsconfig.json", "biome.json"],
  ...["vitest.config.ts", "drizzle.config.ts"],
  ...["wrangler.toml", ".dev.vars.example", "vercel.json", ".vercelignore"],
];

describe("everything has its place", () => {
  function faults(paths: readonly string[]): string[] {
    return paths.filter((path) => {
      const [top = "", ...rest] = path.split("/");
      if (rest.length === 0) return !TOP_FILES.includes(top);
      // Layers are a closed list; so src/app.ts and src/server.ts cannot hide Vercel's entry.
      return !TOP_FOLDERS.includes(top) || (top === "src" && !(layerOf(moduleOf(path)) in LAYERS));
    });
  }

  test("at the top and in src", () => {
    expect(faults(PATHS)).toEqual([]);
  });

  test("control: what has no place is found", () => {
    const misplaced = ["notes.md", "lib/a.ts", "src/app.ts", "src/server.ts", "src/lib/a.ts"];
    expect(faults([...misplaced, "src/index.ts", "src/core/job.ts"])).toEqual(misplaced);
  });
});

describe("what a route answers is declared in a file of the route's name", () => {
  const ROUTE = "src/http/routes/";
  const ANSWER = "src/http/answers/";
  function faults(paths: readonly string[]): string[] {
    return paths.filter((path) => {
      if (path.startsWith(ROUTE)) return !paths.includes(path.replace(ROUTE, ANSWER));
      // What several routes answer stands beside the file that makes it.
      const owners = [ROUTE, "src/http/"].map((folder) => path.replace(ANSWER, folder));
      return path.startsWith(ANSWER) && !owners.some((owner) => paths.includes(owner));
    });
  }

  test("for every route, and nothing else", () => {
    expect(faults(PATHS)).toEqual([]);
  });

  test("control: a route without answers and answers without a route are found", () => {
    const paths = ["routes/a.ts", "routes/b.ts", "answers/b.ts", "answers/c.ts", "answers/d.ts"];
    const all = [...paths, "c.ts"].map((each) => `src/http/${each}`);
    expect(faults(all)).toEqual(["src/http/routes/a.ts", "src/http/answers/d.ts"]);
  });
});

describe("a name says what is inside", () => {
  const EMPTY_NAME = /(?:^|\/)(?:utils?|helpers?|common|types|misc)(?:\/|\.[^/]*$)/i;
  const faults = (paths: readonly string[]): string[] =>
    paths.filter((path) => EMPTY_NAME.test(path));

  test("of every file and folder", () => {
    expect(faults(PATHS)).toEqual([]);
  });

  test("control: names for anything are found", () => {
    const empty = ["src/utils/a.ts", "dev/helpers.ts", "src/core/types.ts", "tests/common/a.sql"];
    expect(faults([...empty, "src/storage/sql/type-states.ts", "dev/typesetter.ts"])).toEqual(
      empty,
    );
  });
});

describe("no barrels: an import names the file that holds the code", () => {
  function faults(file: SourceFile): string[] {
    const found = /(?:^|\/)index\.\w+$/.test(file.path) ? [file.path] : [];
    visit(file, { ExportAllDeclaration: (node) => void found.push(placeOf(file, node)) });
    return file.path === "src/index.ts" ? [] : found;
  }

  test("anywhere", () => {
    expect(filesIn(["src", "dev", "tests", "bench", "examples"]).flatMap(faults)).toEqual([]);
  });

  test("control: an index and a file that passes everything on are found", () => {
    expect(faults({ path: "src/core/index.ts", text: "" })).toHaveLength(1);
    expect(faults({ path: "src/core/all.ts", text: 'export * from "./job.js";' })).toHaveLength(1);
  });
});

/** Functions that a file exports besides the one that it is named after, and why they stay. */
const ALSO_EXPORTED: Record<string, { names: string[]; reason: string }> = {
  "src/storage/sql/replay-many.ts": {
    names: ["countReplayable"],
    reason: "a dry run has to match exactly what the replay would",
  },
  "src/storage/sql/enqueue.ts": {
    names: ["enqueueStatement"],
    reason: "the same statement, for a transaction of the caller's own",
  },
  "src/engine/resolve-job.ts": {
    names: ["accepted"],
    reason: "how callers without a response take a refusal",
  },
  "src/storage/sql/type-states.ts": {
    names: ["setTypePaused", "listTypeStates"],
    reason: "writing and reading the same four columns",
  },
  "src/engine/inspect.ts": {
    names: ["readJob", "listTypes"],
    reason: "looking is one verb, whatever is looked at",
  },
  "src/engine/pause.ts": { names: ["setPaused"], reason: "pause and resume differ in a flag" },
  "src/engine/replay.ts": {
    names: ["replayMany", "unpublishedTypes"],
    reason: "one verb by id and by filter, with the types that either must not publish",
  },
  "src/engine/publish.ts": {
    names: ["publishAfterCommit", "markFailed", "spread"],
    reason: "when, how fast, and what if not: parts of one promise",
  },
  "src/engine/keep-lease.ts": {
    names: ["obey", "cancelRequest"],
    reason: "every answer that renews a lease is obeyed alike",
  },
  "src/engine/job-context.ts": { names: ["createJobContext"], reason: "a maker, not a verb" },
};

describe("one statement or verb per file, which has its name", () => {
  function faults(file: SourceFile): string[] {
    const allowed = [camelName(file.path), ...(ALSO_EXPORTED[file.path]?.names ?? [])];
    return exportedFunctionsOf(file)
      .filter((name) => !allowed.includes(name))
      .map((name) => `${file.path} exports ${name}`);
  }
  const files = filesIn(["src/storage/sql", "src/engine"]);

  test("in storage/sql and engine", () => {
    expect(files.flatMap(faults)).toEqual([]);
  });

  test("no exception outlives its cause", () => {
    const exported = files.flatMap((file) =>
      exportedFunctionsOf(file).map((name) => `${file.path} ${name}`),
    );
    const excused = Object.entries(ALSO_EXPORTED).flatMap(([path, { names }]) =>
      names.map((name) => `${path} ${name}`),
    );
    expect(excused.filter((each) => !exported.includes(each))).toEqual([]);
  });

  test("control: a second function is found, however it is written", () => {
    const text = `
      export async function endEffect() {}
      export async function endAll() {}
      export const endNone = () => null;
      export const LIMIT = 1;
      export interface End { done: boolean }
    `;
    expect(faults({ path: "src/storage/sql/end-effect.ts", text })).toEqual([
      "src/storage/sql/end-effect.ts exports endAll",
      "src/storage/sql/end-effect.ts exports endNone",
    ]);
  });
});
