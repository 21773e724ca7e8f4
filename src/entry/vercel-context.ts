/** What Vercel gives with a request, wherever on Vercel the application runs. */

import type { RequestPlatform } from "../compose.js";

/**
 * Where Vercel's functions find the context of the request at hand. `@vercel/functions` reads the
 * same place, and would bring two dozen packages for these lines.
 * Source: https://github.com/vercel/vercel/blob/main/packages/functions/src/get-context.ts
 */
const CONTEXT = Symbol.for("@vercel/request-context");
type WithContext = typeof globalThis & {
  [CONTEXT]?: { get?(): Pick<RequestPlatform, "waitUntil"> | undefined };
};

/** Gives what lets work go on after the answer; nothing outside of Vercel. */
export function vercelContext(): Pick<RequestPlatform, "waitUntil"> {
  return { waitUntil: (globalThis as WithContext)[CONTEXT]?.get?.()?.waitUntil };
}
