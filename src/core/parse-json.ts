/** JSON whose member names are read as they were written, which V8 alone does not do. */

import type { Json } from "./job.js";

/**
 * A text in which no member name has an escape, and what stands there in place of those that had one.
 *
 * Shape: V8 may take a name with an escape for one that it met before in an object of the same shape:
 *        after `{"a":1,"\\":2}`, the text `{"a":1,"\n":2}` is read as the first one. Names without
 *        an escape are safe.
 * Source: https://github.com/nodejs/node/issues/63785 (Node 24 and 26)
 */
export interface PlainNames {
  text: string;
  names: ReadonlyMap<string, string>;
}

/** Begins what stands in for a name; doubled until the text does not hold it. */
const STEM = "\ue000";
const AFTER_NAME = /[ \t\n\r]*:/y;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Parses valid JSON; whether it can be kept is not looked at. */
export function parseJson(text: string): Json {
  const { text: plain, names } = withPlainNames(text);
  return restoreNames(JSON.parse(plain) as Json, names);
}

/** Puts plain names in place of those with an escape; the text must be valid JSON. */
export function withPlainNames(text: string): PlainNames {
  const names = new Map<string, string>();
  if (!text.includes("\\")) return { text, names };
  let stem = STEM;
  while (text.includes(stem)) stem += stem;
  let plain = "";
  let copiedTo = 0;
  for (let start = text.indexOf('"'); start >= 0; ) {
    const end = endOfString(text, start);
    const source = text.slice(start, end);
    AFTER_NAME.lastIndex = end;
    if (source.includes("\\") && AFTER_NAME.test(text)) {
      const name = `${stem}${names.size}`;
      names.set(name, JSON.parse(source) as string);
      plain += `${text.slice(copiedTo, start)}"${name}"`;
      copiedTo = end;
    }
    start = text.indexOf('"', end);
  }
  return { text: plain + text.slice(copiedTo), names };
}

/** Gives the names back that plain ones stand for; recurses, so depth must be bounded. */
export function restoreNames(value: Json, names: PlainNames["names"]): Json {
  if (names.size === 0 || typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => restoreNames(each, names));
  const members = Object.entries(value).map(
    ([name, member]) => [names.get(name) ?? name, restoreNames(member, names)] as const,
  );
  return Object.fromEntries(members);
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) {
    at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  }
  return at + 1;
}
