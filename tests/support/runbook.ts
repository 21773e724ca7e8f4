/** A page of instructions as tests read it: entries with their blocks, and how each block is run. */

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { parseArgs, promisify } from "node:util";
import pg from "pg";
import { expect } from "vitest";
import { type CliOptions, type CliResult, cli, environmentOf, fetchIn } from "./cli.js";
import type { Flow, Row } from "./flow-world.js";

export interface Block {
  language: string;
  text: string;
}

/** A heading of the second level and what stands below it. */
export interface Entry {
  heading: string;
  text: string;
  blocks: Block[];
}

/** Values for what a block leaves open: `$NAME` of a command, `:'name'` of a query. */
export type Values = Record<string, string>;

export type Query = (values?: Values) => Promise<Row[]>;
export type Command = (values?: Values, options?: CliOptions) => Promise<CliResult>;

/** The blocks of an entry in their order; each is taken once and may be run again and again. */
export interface Page {
  query(): Query;
  command(): Command;
}

/** Makes the situation that an entry describes, follows the entry, and expects what it promises. */
export type Scenario = (flow: Flow, page: Page) => Promise<void>;
export type Scenarios = Record<string, Scenario>;

const HEADING = /^## (.+)$/m;
const BLOCK = /^```(\w*)\n([\s\S]*?)^```$/gm;

/** Reads the entries of a document of `docs/`. */
export async function readEntries(name: string): Promise<Entry[]> {
  const text = await readFile(new URL(`../../docs/${name}`, import.meta.url), "utf8");
  return entriesOf(text);
}

/** Cuts a document into its entries. */
export function entriesOf(document: string): Entry[] {
  const [, ...parts] = document.split(HEADING);
  return parts.flatMap((heading, at) => {
    if (at % 2 === 1) return [];
    const text = parts[at + 1] ?? "";
    const blocks = [...text.matchAll(BLOCK)].map(([, language = "", block = ""]) => ({
      language,
      text: block,
    }));
    return [{ heading, text, blocks }];
  });
}

/** Plays an entry; a block that its scenario does not take, or does not run, is a failure. */
export async function play(flow: Flow, entry: Entry, scenario: Scenario): Promise<void> {
  const left = [...entry.blocks];
  const notRun = new Set(entry.blocks);
  const take = (language: string): Block => {
    const block = left.shift();
    expect(block?.language, `the next block of "${entry.heading}"`).toBe(language);
    return block as Block;
  };
  await scenario(flow, {
    query() {
      const block = take("sql");
      return async (values = {}) => {
        notRun.delete(block);
        return flow.query(withValues(block.text, values));
      };
    },
    command() {
      const block = take("sh");
      return async (values = {}, options = {}) => {
        notRun.delete(block);
        return runCommand(flow, block.text, values, options);
      };
    },
  });
  expect(
    [...notRun].map(({ text }) => text),
    "blocks that were not run",
  ).toEqual([]);
}

/** Puts values where psql would. */
function withValues(text: string, values: Values): string {
  return text.replaceAll(/(?<!:):'(\w+)'/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`the query wants a value for ${name}`);
    return pg.escapeLiteral(value);
  });
}

async function runCommand(
  flow: Flow,
  text: string,
  values: Values,
  options: CliOptions,
): Promise<CliResult> {
  const env = { ...environmentOf(flow), ...options.env, ...values };
  const [program, ...words] = await shellWords(text, env);
  if (program === "curl") return curl(flow, words);
  expect([program, words[0]]).toEqual(["npx", "antrean"]);
  return cli(flow, words.slice(1), options);
}

/** What the shell makes of a command: its quotes and variables are the shell's own business. */
async function shellWords(text: string, env: Values): Promise<string[]> {
  const stubs = ["npx", "curl"].map((name) => `${name}() { printf '%s\\0' ${name} "$@"; }`);
  // Nothing but the two can be found, and a variable that nobody set is a mistake.
  const script = `set -eu\n${stubs.join("\n")}\n${text}`;
  const { stdout } = await promisify(execFile)("/bin/sh", ["-c", script], {
    env: { ...env, PATH: "/nowhere" },
  });
  return stdout.split("\0").slice(0, -1);
}

async function curl(flow: Flow, words: string[]): Promise<CliResult> {
  const { values, positionals } = parseArgs({
    args: words,
    allowPositionals: true,
    options: {
      silent: { type: "boolean", short: "s" },
      request: { type: "string", short: "X" },
      header: { type: "string", short: "H", multiple: true },
    },
  });
  const [url = ""] = positionals;
  const headers = (values.header ?? []).map((line): [string, string] => {
    const [name = "", value = ""] = line.split(": ");
    return [name, value];
  });
  const response = await fetchIn(flow)(new Request(url, { method: values.request, headers }));
  return { code: 0, stdout: await response.text(), stderr: "" };
}
