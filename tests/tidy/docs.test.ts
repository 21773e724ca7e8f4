import path from "node:path";
import { describe, expect, test } from "vitest";
import { PATHS, readText, type SourceFile, sourceOf } from "./tree.js";

const documents = PATHS.filter((each) => each.endsWith(".md")).map(sourceOf);
const GENERATED = /^package-lock\.json$|^drizzle\/meta\//;
const BINARY = /\.(?:png|jpe?g|gif|ico|woff2?|pdf)$/;
const texts = PATHS.filter((each) => !GENERATED.test(each) && !BINARY.test(each)).map(sourceOf);

function matchesOf({ path: name, text }: SourceFile, pattern: RegExp) {
  return [...text.matchAll(pattern)].map(({ 0: whole, 1: found = whole, index }) => ({
    place: `${name}:${text.slice(0, index).split("\n").length}`,
    found,
  }));
}

function exists(relativePath: string): boolean {
  const wanted = relativePath.replace(/\/$/, "");
  return wanted === "." || PATHS.some((each) => each === wanted || each.startsWith(`${wanted}/`));
}

describe("a link in the documentation leads somewhere", () => {
  function faults(file: SourceFile): string[] {
    return matchesOf(file, /\]\(\s*<?([^)\s>]+)/g)
      .filter(({ found }) => !/^[a-z]+:/i.test(found))
      .filter(({ found }) => {
        const [name = "", anchor] = found.split("#");
        const target = name ? path.posix.join(path.posix.dirname(file.path), name) : file.path;
        if (target !== file.path && !exists(target)) return true;
        if (anchor === undefined || !target.endsWith(".md")) return false;
        const text = target === file.path ? file.text : readText(target);
        return !anchorsOf(text).includes(anchor);
      })
      .map(({ place, found }) => `${place} ${found}`);
  }

  /** The anchors that GitHub gives to headings. */
  function anchorsOf(text: string): string[] {
    return [...text.matchAll(/^#+ +(.+?) *$/gm)].map(([, heading = ""]) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, "")
        .replaceAll(" ", "-"),
    );
  }

  test("in every document", () => {
    expect(documents.flatMap(faults)).toEqual([]);
  });

  test("control: dead links and dead anchors are found", () => {
    const text =
      "# A `b` c\n[x](gone.md) [y](../src/core/job.ts) [z](#a-b-c) [w](#a-c) [v](https://x.org/)";
    expect(faults({ path: "docs/a.md", text })).toEqual([
      "docs/a.md:2 gone.md",
      "docs/a.md:2 #a-c",
    ]);
  });
});

describe("a path in the documentation exists", () => {
  /** Files that the reader is invited to make. */
  const INVITED = ["src/jobs/hello.ts"];
  const PATH_IN_CODE = /`((?:src|dev|tests|docs|bench|drizzle|examples|\.ci)\/[\w./-]*)`/g;

  const faults = (file: SourceFile): string[] =>
    matchesOf(file, PATH_IN_CODE)
      .filter(({ found }) => !exists(found) && !INVITED.includes(found))
      .map(({ place, found }) => `${place} ${found}`);

  test("in every document", () => {
    expect(documents.flatMap(faults)).toEqual([]);
  });

  test("control: a path to nothing is found", () => {
    const text = "`src/core/job.ts`, `src/storage/sql/`, `src/core/gone.ts`, `src/jobs/<type>.ts`";
    expect(faults({ path: "a.md", text })).toEqual(["a.md:1 src/core/gone.ts"]);
  });
});

describe("a command that somebody is told to type exists", () => {
  const { scripts } = JSON.parse(readText("package.json")) as { scripts: Record<string, string> };
  const faults = (file: SourceFile): string[] =>
    matchesOf(file, /\bnpm (?:run +([\w:-]+)|(?:test|start)\b)/g)
      .filter(({ found }) => !(found.replace(/^npm /, "") in scripts))
      .map(({ place, found }) => `${place} ${found}`);

  test("in documents, messages, comments and settings", () => {
    const others = texts.filter((file) => !file.path.startsWith("tests/tidy/"));
    expect(others.flatMap(faults)).toEqual([]);
  });

  test("control: an unknown script is found", () => {
    const text = "`npm run types`, `npm test`, `npm ci`, `npm run nothing -- --flag`";
    expect(faults({ path: "a.md", text })).toEqual(["a.md:1 nothing"]);
  });
});

describe("what is committed is finished, and knows no single machine", () => {
  // Written so that this file does not name what it looks for.
  const UNFINISHED = /\b(?:TOD[O]|FIXM[E]|XX[X])\b/g;
  const MACHINE_PATH = /(?<![\w.})>-])\/(?:hom[e]|roo[t]|User[s]|wor[k])\/\w+/g;

  const faults = (file: SourceFile): string[] =>
    [UNFINISHED, MACHINE_PATH]
      .flatMap((pattern) => matchesOf(file, pattern))
      .map(({ place, found }) => `${place} ${found}`);

  test("in every text", () => {
    expect(texts.flatMap(faults)).toEqual([]);
  });

  test("control: notes to oneself and paths of a machine are found", () => {
    const text = ["// TO", "DO later\nread('/ho", "me/me/x'); get('/api/wo", "rk/1');"].join("");
    expect(faults({ path: "a.ts", text })).toHaveLength(2);
  });
});
