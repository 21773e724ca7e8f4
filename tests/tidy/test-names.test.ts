import type { ESTree } from "vite";
import { describe, expect, test } from "vitest";
import { placeOf, visit } from "./syntax.js";
import { filesIn, type SourceFile } from "./tree.js";

const files = filesIn(["tests"], [".test.ts"]);

/** Gives the name that a call chain begins with: `test` of `test.each([1])`. */
function rootOf(callee: ESTree.Expression): string | undefined {
  if (callee.type === "CallExpression") return rootOf(callee.callee);
  if (callee.type === "MemberExpression") return rootOf(callee.object);
  return callee.type === "Identifier" ? callee.name : undefined;
}

function titleOf({ arguments: [first] }: ESTree.CallExpression): string | undefined {
  if (first?.type === "Literal" && typeof first.value === "string") return first.value;
  if (first?.type !== "TemplateLiteral") return undefined;
  return first.quasis.map(({ value }) => value.raw).join("?");
}

describe("within a tier no two tests have one name, so that a failure names its guarantee", () => {
  /** Full names with their places: chapters, then the test. */
  function testsOf(file: SourceFile): { name: string; place: string }[] {
    const tests: { name: string; place: string }[] = [];
    const chapters: string[] = [];
    const chapterOf = (node: ESTree.CallExpression) =>
      rootOf(node.callee) === "describe" ? titleOf(node) : undefined;
    visit(file, {
      CallExpression: (node) => {
        const chapter = chapterOf(node);
        if (chapter !== undefined) chapters.push(chapter);
        const title = ["test", "it"].includes(rootOf(node.callee) ?? "") && titleOf(node);
        if (title) {
          tests.push({ name: [...chapters, title].join(" > "), place: placeOf(file, node) });
        }
      },
      "CallExpression:exit": (node) => {
        if (chapterOf(node) !== undefined) chapters.pop();
      },
    });
    return tests;
  }

  function faults(tier: SourceFile[]): string[] {
    const byName = Map.groupBy(tier.flatMap(testsOf), ({ name }) => name);
    return [...byName]
      .filter(([, tests]) => tests.length > 1)
      .map(([name, tests]) => `${name}: ${tests.map(({ place }) => place).join(", ")}`);
  }

  test("in every tier", () => {
    const tiers = Map.groupBy(files, ({ path }) => path.split("/")[1] ?? "");
    expect([...tiers.values()].flatMap(faults)).toEqual([]);
  });

  test("control: a name that is used twice is found, across files and ways to write it", () => {
    const first = `
      describe("a", () => { test("one", run); });
      test("one", run);
      test.each([1, 2])("two %s", run);
    `;
    const second = 'describe("a", () => { it.concurrent("one", run); test("two %s", run); });';
    expect(
      faults([
        { path: "tests/x/first.test.ts", text: first },
        { path: "tests/x/second.test.ts", text: second },
      ]),
    ).toEqual(["a > one: tests/x/first.test.ts:2, tests/x/second.test.ts:1"]);
  });
});

describe("no test is left out in silence", () => {
  function faults(file: SourceFile): string[] {
    const found: string[] = [];
    visit(file, {
      CallExpression: (node) => {
        const { callee } = node;
        if (callee.type !== "MemberExpression" || callee.property.type !== "Identifier") return;
        const { name } = callee.property;
        const isOfTests = ["test", "it", "describe"].includes(rootOf(callee) ?? "");
        // A running test may end itself with a reason, which the verbose report prints.
        const isSilent = isOfTests
          ? ["skip", "only", "todo", "skipIf", "runIf", "fails"].includes(name)
          : name === "skip" && node.arguments.length === 0 && isContext(callee.object);
        if (isSilent) found.push(`${placeOf(file, node)} ${name}`);
      },
    });
    return found;
  }

  function isContext(node: ESTree.Expression): boolean {
    return node.type === "Identifier" && /^(?:context|ctx|task)$/.test(node.name);
  }

  test("in every tier", () => {
    expect(files.flatMap(faults)).toEqual([]);
  });

  test("control: skipped, single and unwritten tests are found; a reason is accepted", () => {
    const silent = [
      'test.skip("a", run);',
      'describe.only("a", run);',
      'it.todo("a");',
      'test.concurrent.skip("a", run);',
      'test.skipIf(condition)("a", run);',
      'test("a", (context) => context.skip());',
    ];
    for (const text of silent) {
      expect(faults({ path: "tests/x/a.test.ts", text })).toHaveLength(1);
    }
    const text = 'test("a", ({ skip }) => skip("no IPv6 here")); cursor.skip(); retry.only(1);';
    expect(faults({ path: "tests/x/a.test.ts", text })).toEqual([]);
  });
});
