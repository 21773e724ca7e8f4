/** What the rules need to know of a TypeScript file, read with the parser that Vite brings along. */

import { type ESTree, parseSync, Visitor, type VisitorObject } from "vite";
import type { SourceFile } from "./tree.js";

const programs = new WeakMap<SourceFile, ESTree.Program>();

/** Walks the syntax tree of a file, which is parsed once. */
export function visit(file: SourceFile, visitor: VisitorObject): void {
  new Visitor(visitor).visit(programOf(file));
}

export function programOf(file: SourceFile): ESTree.Program {
  const present = programs.get(file);
  if (present) return present;
  const { program, errors } = parseSync(file.path, file.text);
  const [error] = errors;
  if (error) throw new Error(`${file.path}: ${error.message}`);
  programs.set(file, program);
  return program;
}

/** Where a node begins, as editors understand it. */
export function placeOf(file: SourceFile, { start }: { start: number }): string {
  return `${file.path}:${file.text.slice(0, start).split("\n").length}`;
}

export interface Import {
  /** `(computed)` where only a run could tell. */
  specifier: string;
  typeOnly: boolean;
  start: number;
}

/** Lists what a file imports, by whatever syntax. */
export function importsOf(file: SourceFile): Import[] {
  const imports: Import[] = [];
  const add = (source: ESTree.Expression, typeOnly: boolean): void => {
    const isText = source.type === "Literal" && typeof source.value === "string";
    imports.push({
      specifier: isText ? String(source.value) : "(computed)",
      typeOnly,
      start: source.start,
    });
  };
  visit(file, {
    ImportDeclaration: ({ source, importKind }) => add(source, importKind === "type"),
    ExportAllDeclaration: ({ source, exportKind }) => add(source, exportKind === "type"),
    ExportNamedDeclaration: ({ source, exportKind }) => {
      if (source) add(source, exportKind === "type");
    },
    ImportExpression: ({ source }) => add(source, false),
    TSImportType: ({ source }) => add(source, true),
  });
  return imports;
}

/** Gives the npm package of an import that is neither ours nor Node's. */
export function packageOf(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

export interface Use {
  /** `object.member`, `call()`, or `new Class()` for one without arguments. */
  use: string;
  start: number;
}

/** Lists the members, calls and constructions of plain names: enough to find globals. */
export function usesOf(file: SourceFile): Use[] {
  const uses: Use[] = [];
  visit(file, {
    MemberExpression: ({ object, property, computed, start }) => {
      if (object.type !== "Identifier" || property.type !== "Identifier" || computed) return;
      uses.push({ use: `${object.name}.${property.name}`, start });
    },
    CallExpression: ({ callee, start }) => {
      if (callee.type === "Identifier") uses.push({ use: `${callee.name}()`, start });
    },
    NewExpression: ({ callee, arguments: given, start }) => {
      if (callee.type !== "Identifier" || given.length > 0) return;
      uses.push({ use: `new ${callee.name}()`, start });
    },
  });
  return uses;
}

/** Lists the functions that a file exports by name. */
export function exportedFunctionsOf(file: SourceFile): string[] {
  return programOf(file).body.flatMap((statement) => {
    if (statement.type !== "ExportNamedDeclaration" || !statement.declaration) return [];
    const { declaration } = statement;
    if (declaration.type === "FunctionDeclaration") return [declaration.id?.name ?? "default"];
    if (declaration.type !== "VariableDeclaration") return [];
    return declaration.declarations.flatMap(({ id, init }) =>
      id.type === "Identifier" && init?.type === "ArrowFunctionExpression" ? [id.name] : [],
    );
  });
}

/** `take-vanished.ts` → `takeVanished`. */
export function camelName(path: string): string {
  const stem = path.replace(/^.*\//, "").replace(/\.tsx?$/, "");
  return stem.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}
