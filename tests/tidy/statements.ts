/** The SQL of a file: its texts, and the statements that it sends. */

import type { ESTree } from "vite";
import { programOf, visit } from "./syntax.js";
import type { SourceFile } from "./tree.js";

/** One `sql` template; every hole in it reads `?`. */
export interface SqlText {
  text: string;
  start: number;
}

/** SQL that changes rows. */
export const WRITE =
  /\b(?:insert\s+into\s+\w+|delete\s+from\s+\w+|update\s+\w+(?:\s+(?:as\s+)?\w+)?\s+set)\b/i;

/** Lists all templates tagged `sql`, those inside others as well. */
export function sqlTextsOf(file: SourceFile): SqlText[] {
  const texts: SqlText[] = [];
  visit(file, {
    TaggedTemplateExpression: (node) => {
      if (isSql(node)) texts.push(sqlText(node));
    },
  });
  return texts;
}

/** Lists the calls that send something to the database. */
export function sendingCallsOf(file: SourceFile): ESTree.CallExpression[] {
  const calls: ESTree.CallExpression[] = [];
  visit(file, {
    CallExpression: (node) => {
      const { callee } = node;
      if (callee.type !== "MemberExpression" || callee.object.type !== "Identifier") return;
      const { object, property } = callee;
      if (object.name !== "db" || property.type !== "Identifier") return;
      if (property.name === "run" || property.name === "batch") calls.push(node);
    },
  });
  return calls;
}

/**
 * Follows what a call sends back to its templates, through the functions of the same file.
 *
 * Shape: a place that cannot be followed gives an empty text, which no rule accepts.
 */
export function sentTextsOf(file: SourceFile, call: ESTree.CallExpression): SqlText[] {
  const makers = makersOf(file);
  const follow = (node: ESTree.Node | null | undefined): SqlText[] => {
    if (node?.type === "TaggedTemplateExpression" && isSql(node)) return [sqlText(node)];
    if (node?.type === "ConditionalExpression") {
      return [...follow(node.consequent), ...follow(node.alternate)];
    }
    if (node?.type === "ArrayExpression") return node.elements.flatMap(follow);
    if (node?.type === "CallExpression" && node.callee.type === "Identifier") {
      const made = makers.get(node.callee.name);
      if (made) return made.flatMap(follow);
    }
    return [{ text: "", start: call.start }];
  };
  return call.arguments.flatMap(follow);
}

/** What each top-level function of the file returns. */
function makersOf(file: SourceFile): Map<string, ESTree.Node[]> {
  const makers = new Map<string, ESTree.Node[]>();
  for (const statement of programOf(file).body) {
    if (statement.type === "FunctionDeclaration" && statement.id) {
      const returned = (statement.body?.body ?? []).flatMap((each) =>
        each.type === "ReturnStatement" && each.argument ? [each.argument] : [],
      );
      makers.set(statement.id.name, returned);
    }
    if (statement.type === "VariableDeclaration") {
      for (const { id, init } of statement.declarations) {
        if (id.type !== "Identifier" || init?.type !== "ArrowFunctionExpression") continue;
        makers.set(id.name, [init.body]);
      }
    }
  }
  return makers;
}

function isSql({ tag }: ESTree.TaggedTemplateExpression): boolean {
  return tag.type === "Identifier" && tag.name === "sql";
}

function sqlText({ quasi, start }: ESTree.TaggedTemplateExpression): SqlText {
  return { text: quasi.quasis.map(({ value }) => value.cooked ?? value.raw).join("?"), start };
}
