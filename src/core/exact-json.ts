/** JSON that survives the way through JavaScript, jsonb and back, or is refused with its place. */

import type { Json } from "./job.js";
import { type PlainNames, restoreNames, withPlainNames } from "./parse-json.js";

/** Deeper nesting is no payload; hashing and storing recurse, so there must be a bound. */
export const JSON_DEPTH_MAX = 64;

/** A place in a JSON document and what is wrong there. */
export interface JsonFault {
  /** JSON Pointer as a URI fragment: `#/payload/to`. */
  pointer: string;
  detail: string;
}

export type ParsedJson =
  | { ok: true; value: Json; faults: JsonFault[] }
  /** The text is not JSON at all. */
  | { ok: false; detail: string };

/** Node 22, Chromium and workerd pass the source text; the type libraries do not know it yet. */
type SourceReviver = (
  this: object,
  name: string,
  value: unknown,
  context?: { source?: string },
) => unknown;

/**
 * More values than this in one body are refused: checking them would hold up the whole instance. A
 * body of the largest size could hold two million.
 */
export const JSON_VALUES_MAX = 200_000;
/** Nobody reads more refused places than this. */
const FAULTS_MAX = 100;

/** Fifteen digits without an exponent are always exact, so most bodies need no second look. */
const MAYBE_INEXACT = /(?:^|[[,:\s])-0|\d[eE]|[\d.]{16}/;
/** NUL and unpaired surrogates can only come as escapes: the text itself was decoded as UTF-8. */
const MAYBE_UNSTORABLE = /\\u/;

/**
 * Parses JSON text and lists what would not come back as it was sent.
 *
 * Faults: numbers that a double cannot hold, NUL and lone surrogates (jsonb has neither), nesting
 * over `depthMax`, which is `JSON_DEPTH_MAX` plus the levels around the payload, and too many values.
 */
export function parseExactJson(text: string, depthMax: number): ParsedJson {
  // JSON.parse without a reviver does not recurse, so it can tell apart "deep" and "not JSON".
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    return { ok: false, detail: error instanceof Error ? error.message : "not JSON" };
  }
  const excess = excessOf(text, depthMax);
  if (excess) return { ok: true, value: null, faults: [{ pointer: "#", detail: excess }] };
  const plain = withPlainNames(text);
  const { names } = plain;
  if (names.size > 0) value = JSON.parse(plain.text) as Json;
  const mayBeInexact = MAYBE_INEXACT.test(text);
  const { root, inexact } =
    mayBeInexact && GIVES_SOURCE ? inexactNumbers(plain.text) : { root: value, inexact: new Map() };
  const faults: JsonFault[] = [];
  const placeless = mayBeInexact && !GIVES_SOURCE ? inexactNumberIn(text) : undefined;
  if (placeless !== undefined) faults.push({ pointer: "#", detail: numberFault(placeless) });
  if (inexact.size > 0 || MAYBE_UNSTORABLE.test(text))
    collectFaults(root, [], { inexact, names }, faults);
  if (GIVES_SOURCE && typeof value === "number" && !isExactNumber(text.trim())) {
    faults.push({ pointer: "#", detail: numberFault(text.trim()) });
  }
  return { ok: true, value: restoreNames(value, names), faults };
}

/** Node 20 does not hand the source text of a number to a reviver; then its place is not known. */
const GIVES_SOURCE = (() => {
  let given: string | undefined;
  const reviver: SourceReviver = (_name, value, context) => {
    given = context?.source;
    return value;
  };
  JSON.parse("1", reviver as (name: string, value: unknown) => unknown);
  return given === "1";
})();

/** Finds the first number of a JSON text that a double cannot hold, without its place. */
export function inexactNumberIn(text: string): string | undefined {
  const withoutStrings = text.replace(/"(?:[^"\\]|\\.)*"/g, '""');
  const numbers = withoutStrings.match(/-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g) ?? [];
  return numbers.find((number) => !isExactNumber(number));
}

/** Source texts of inexact numbers, by their holder and their name. */
type Inexact = Map<object, Map<string, string>>;

/**
 * Parses once more, and finds the numbers that a double cannot hold.
 *
 * Shape: a reviver knows no path, so numbers are known by their holders in the value of this parse: a
 *        pointer for each could be as long as the body, many thousand times.
 */
function inexactNumbers(text: string): { root: Json; inexact: Inexact } {
  const inexact: Inexact = new Map();
  const reviver: SourceReviver = function (name, member, context) {
    const source = context?.source;
    if (typeof member === "number" && source !== undefined && !isExactNumber(source)) {
      const names = inexact.get(this) ?? new Map<string, string>();
      inexact.set(this, names.set(name, source));
    }
    return member;
  };
  const root = JSON.parse(text, reviver as (name: string, value: unknown) => unknown) as Json;
  return { root, inexact };
}

/** Tells whether a number's text has the same value after parsing as a double and printing. */
export function isExactNumber(source: string): boolean {
  const parsed = Number(source);
  if (!Number.isFinite(parsed)) return false;
  // jsonb has no negative zero: it would come back as 0.
  if (Object.is(parsed, -0)) return false;
  return decimalOf(source) === decimalOf(String(parsed));
}

/** Writes a decimal number as its significant digits and the exponent of the last one. */
function decimalOf(source: string): string {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(source);
  if (!match) return source;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match;
  const digits = (whole + fraction).replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return "0";
  const power = Number(exponent) - fraction.length + (digits.length - significant.length);
  return `${sign}${significant}e${power}`;
}

/** Counts brackets and commas outside strings; no recursion, so that 100,000 levels cost nothing. */
function excessOf(text: string, depthMax: number): string | undefined {
  let depth = 0;
  let values = 1;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (inString) {
      if (character === "\\") at += 1;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === "[" || character === "{") {
      depth += 1;
      values += 1;
    } else if (character === "]" || character === "}") depth -= 1;
    else if (character === ",") values += 1;
    if (depth > depthMax) return `payloads may nest up to ${JSON_DEPTH_MAX} levels deep`;
    if (values > JSON_VALUES_MAX) return `a body may hold up to ${JSON_VALUES_MAX} values`;
  }
  return undefined;
}

/** Walks a value with one path that grows and shrinks; a pointer is written only for a fault. */
function collectFaults(
  value: Json,
  path: string[],
  known: { inexact: Inexact; names: PlainNames["names"] },
  faults: JsonFault[],
): void {
  if (typeof value === "string") {
    const detail = textFault(value);
    if (detail) faults.push({ pointer: pointerOf(path), detail });
  }
  if (typeof value !== "object" || value === null) return;
  const sources = known.inexact.get(value);
  for (const [plainName, member] of Object.entries(value)) {
    if (faults.length >= FAULTS_MAX) return;
    const name = known.names.get(plainName) ?? plainName;
    path.push(name);
    const nameFault = Array.isArray(value) ? undefined : textFault(name);
    if (nameFault) faults.push({ pointer: pointerOf(path), detail: `member name: ${nameFault}` });
    const source = sources?.get(plainName);
    if (source !== undefined)
      faults.push({ pointer: pointerOf(path), detail: numberFault(source) });
    collectFaults(member, path, known, faults);
    path.pop();
  }
}

function pointerOf(path: readonly string[]): string {
  return ["#", ...path.map(pointerToken)].join("/");
}

/** A longer name is cut: repeated for every fault inside, it would make answers of megabytes. */
const POINTER_NAME_LENGTH_MAX = 100;

/** Escapes a member name for a JSON Pointer in a URI fragment (RFC 6901, section 6). */
export function pointerToken(name: string | number): string {
  const shown = String(name).slice(0, POINTER_NAME_LENGTH_MAX);
  const escaped = shown.replaceAll("~", "~0").replaceAll("/", "~1");
  return encodeURIComponent(escaped.toWellFormed());
}

function numberFault(source: string): string {
  const shown = source.length > 40 ? `${source.slice(0, 40)}…` : source;
  return `the number ${shown} cannot be kept exactly; send it as a string`;
}

function textFault(text: string): string | undefined {
  if (text.includes("\u0000")) return "the character U+0000 cannot be stored";
  if (!text.isWellFormed()) return "an unpaired surrogate is not a character";
  return undefined;
}
