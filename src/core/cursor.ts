/** Cursors: opaque to clients, and good only for the list that gave them out. */

import { fingerprint } from "./fingerprint.js";
import type { JobFilter, ListPosition } from "./listing.js";
import type { Actor } from "./operations.js";

const CURSOR = /^([0-9a-f]{32})\.(\d{1,16})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** Names a list: its filter and whose jobs it shows; the same for every page of it. */
export async function listName(filter: JobFilter, { tenant }: Actor): Promise<string> {
  const hash = await fingerprint("GET", "/api/jobs", { ...filter, tenant });
  return hash.slice(0, 32);
}

/** Writes the place where a page ended. */
export function encodeCursor({ createdAtMicros, id }: ListPosition, list: string): string {
  return btoa(`${list}.${createdAtMicros}.${id}`)
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

/**
 * Reads a cursor of this very list; undefined for anything else.
 *
 * Shape: it is not signed. Who forges a place in a list of his own sees nothing but his own list.
 */
export function decodeCursor(cursor: string, list: string): ListPosition | undefined {
  const [, writtenFor, micros = "", id = ""] = CURSOR.exec(textOf(cursor)) ?? [];
  const createdAtMicros = Number(micros);
  const isOfList = writtenFor === list && Number.isSafeInteger(createdAtMicros);
  return isOfList ? { createdAtMicros, id } : undefined;
}

/** Empty for what is not base64url. */
function textOf(cursor: string): string {
  if (!/^[\w-]+$/.test(cursor)) return "";
  try {
    return atob(cursor.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return "";
  }
}
