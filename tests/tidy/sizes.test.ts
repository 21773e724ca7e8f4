import type { ESTree } from "vite";
import { describe, expect, test } from "vitest";
import { placeOf, visit } from "./syntax.js";
import { filesIn, type SourceFile } from "./tree.js";

const FILE_LINES_MAX = 300;
const FUNCTION_LINES_MAX = 70;

/** Files that are longer for a reason; the number is what they may grow to. */
const LONGER_FILES: Record<string, { lines: number; reason: string }> = {};

const files = filesIn(["src", "dev", "tests", "bench"]);

describe(`a file has at most ${FILE_LINES_MAX} lines`, () => {
  const linesOf = ({ text }: SourceFile): number => text.trimEnd().split("\n").length;
  const faults = (file: SourceFile): string[] => {
    const max = LONGER_FILES[file.path]?.lines ?? FILE_LINES_MAX;
    return linesOf(file) > max ? [`${file.path} has ${linesOf(file)} lines`] : [];
  };

  test("in src, dev, tests and bench", () => {
    expect(files.flatMap(faults)).toEqual([]);
  });

  test("no exception outlives its cause", () => {
    const long = files.filter((file) => linesOf(file) > FILE_LINES_MAX).map(({ path }) => path);
    expect(Object.keys(LONGER_FILES).filter((path) => !long.includes(path))).toEqual([]);
  });

  test("control: one line more is found", () => {
    const lines = (count: number) => ({ path: "a.ts", text: "x;\n".repeat(count) });
    expect(faults(lines(FILE_LINES_MAX))).toEqual([]);
    expect(faults(lines(FILE_LINES_MAX + 1))).toEqual(["a.ts has 301 lines"]);
  });
});

describe(`a function has at most ${FUNCTION_LINES_MAX} lines`, () => {
  function faults(file: SourceFile): string[] {
    const found: string[] = [];
    const groups = new Set<number>();
    const check = (node: { start: number; end: number }): void => {
      const lines = file.text.slice(node.start, node.end).split("\n").length;
      if (lines <= FUNCTION_LINES_MAX || groups.has(node.start)) return;
      found.push(`${placeOf(file, node)} has ${lines} lines`);
    };
    visit(file, {
      // The body of a describe is a chapter, not a function to be followed step by step.
      CallExpression: (node) => {
        if (isDescribe(node.callee)) for (const each of node.arguments) groups.add(each.start);
      },
      FunctionDeclaration: check,
      FunctionExpression: check,
      ArrowFunctionExpression: check,
    });
    return found;
  }

  function isDescribe(callee: ESTree.Expression): boolean {
    if (callee.type === "CallExpression") return isDescribe(callee.callee);
    if (callee.type === "MemberExpression") return isDescribe(callee.object);
    return callee.type === "Identifier" && callee.name === "describe";
  }

  test("in src, dev, tests and bench", () => {
    expect(files.flatMap(faults)).toEqual([]);
  });

  test("control: long functions of every kind are found, chapters of tests are not", () => {
    const body = "\n".repeat(FUNCTION_LINES_MAX);
    const kinds = [
      `function a() {${body}}`,
      `const b = {\n  method() {${body}},\n};`,
      `const c = () => {${body}};`,
      `describe.each([1])("chapter", () => {\n  test("case", () => {${body}});\n});`,
    ];
    for (const text of kinds) {
      expect(faults({ path: "a.ts", text })).toEqual([
        expect.stringMatching(/^a\.ts:[12] has 71 lines$/),
      ]);
    }
    const short = { path: "a.ts", text: `function a() {${body.slice(1)}}` };
    expect(faults(short)).toEqual([]);
  });
});
