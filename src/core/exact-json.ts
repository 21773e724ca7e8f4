/** JSON that survives the way through JavaScript, jsonb and back, or is refused with its place. */

import type { Json } from "./job.js";

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
 * Parses JSON text and lists what would not come back as it was sent.
 *
 * Faults: numbers that a double cannot hold, NUL and lone surrogates (jsonb has neither), and
 * nesting over `depthMax`, which is `JSON_DEPTH_MAX` plus the levels around the payload.
 */
export function parseExactJson(text: string, depthMax: number): ParsedJson {
  const tooDeep = depthExceeded(text, depthMax);
  // JSON.parse without a reviver does not recurse, so it can tell apart "deep" and "not JSON".
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    return { ok: false, detail: error instanceof Error ? error.message : "not JSON" };
  }
  if (tooDeep) {
    const detail = `payloads may nest up to ${JSON_DEPTH_MAX} levels deep`;
    return { ok: true, value: null, faults: [{ pointer: "#", detail }] };
  }
  const changed = new Map<object, Map<string, string>>();
  const reviver: SourceReviver = function (name, member, context) {
    const source = context?.source;
    if (typeof member === "number" && source !== undefined && !isExactNumber(source)) {
      const names = changed.get(this) ?? new Map<string, string>();
      changed.set(this, names.set(name, source));
    }
    return member;
  };
  const root = { "": JSON.parse(text, reviver as (name: string, value: unknown) => unknown) };
  value = root[""] as Json;
  const faults = [...findFaults(value, "#", changed)];
  if (typeof value === "number" && !isExactNumber(text.trim())) {
    faults.push({ pointer: "#", detail: numberFault(text.trim()) });
  }
  return { ok: true, value, faults };
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

/** Counts brackets outside strings; no recursion, so that 100,000 levels cost nothing. */
function depthExceeded(text: string, depthMax: number): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (inString) {
      if (character === "\\") at += 1;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === "[" || character === "{") {
      depth += 1;
      if (depth > depthMax) return true;
    } else if (character === "]" || character === "}") depth -= 1;
  }
  return false;
}

function* findFaults(
  value: Json,
  pointer: string,
  changed: Map<object, Map<string, string>>,
): Generator<JsonFault> {
  if (typeof value === "string") {
    const detail = textFault(value);
    if (detail) yield { pointer, detail };
  }
  if (typeof value !== "object" || value === null) return;
  const numbers = changed.get(value);
  for (const [name, member] of Object.entries(value)) {
    const place = `${pointer}/${pointerToken(name)}`;
    const nameFault = Array.isArray(value) ? undefined : textFault(name);
    if (nameFault) yield { pointer: place, detail: `member name: ${nameFault}` };
    const source = numbers?.get(name);
    if (source !== undefined) yield { pointer: place, detail: numberFault(source) };
    yield* findFaults(member, place, changed);
  }
}

/** Escapes a member name for a JSON Pointer in a URI fragment (RFC 6901, section 6). */
export function pointerToken(name: string | number): string {
  const escaped = String(name).replaceAll("~", "~0").replaceAll("/", "~1");
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
