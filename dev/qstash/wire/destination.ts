import { lookup } from "node:dns/promises";
import { ApiError } from "./api-error.js";

/** A destination as it stood in the request, and the configuration found in its query. */
export interface RawDestination {
  readonly text: string;
  readonly config: readonly (readonly [name: string, value: string])[];
}

/** Checks that are off unless asked for: offline tests publish to hosts that do not resolve. */
export interface StrictChecks {
  readonly resolveHosts?: boolean;
  readonly refuseLoopback?: boolean;
}

/**
 * Takes the destination out of the raw request target, query string included; `upstash-*` and
 * `qstash_token` query parameters are QStash's own and no part of it.
 */
export function readDestination(path: string, rawQuery: string | undefined): RawDestination {
  const address = repair(path);
  const text =
    rawQuery === undefined ? address : `${address}${address.includes("?") ? "&" : "?"}${rawQuery}`;
  const queryAt = text.indexOf("?");
  if (queryAt < 0) return { text, config: [] };
  const config: [string, string][] = [];
  // Split by hand: URLSearchParams would re-encode the pairs that stay, and `sub` must not change.
  const kept = text
    .slice(queryAt + 1)
    .split("&")
    .filter((pair) => {
      const [name = "", value = ""] = decodePair(pair);
      if (name.startsWith("upstash-")) config.push([name, value]);
      return name !== "qstash_token" && !name.startsWith("upstash-");
    });
  const base = text.slice(0, queryAt);
  return { text: kept.length > 0 ? `${base}?${kept.join("&")}` : base, config };
}

/** Undoes what proxies and careful clients do to a URL inside a path. */
function repair(text: string): string {
  const decoded = /^https?%3a/i.test(text) ? decodeURIComponent(text) : text;
  return decoded.replace(/^(https?:)\/+/i, "$1//");
}

function decodePair(pair: string): string[] {
  return [...new URLSearchParams(pair)].flat();
}

/** Says whether a text is an absolute http(s) URL. */
export function isHttpUrl(text: string): boolean {
  return /^https?:\/\//i.test(text) && URL.canParse(text);
}

/** Throws the service's own 400 when a destination is no http(s) URL. */
export function assertHttpDestination(text: string): void {
  if (isHttpUrl(text)) return;
  throw new ApiError(
    400,
    "invalid destination url: endpoint has invalid scheme, add http:// or https://",
  );
}

/** Applies the opt-in checks on a destination's host. */
export async function assertReachableHost(url: string, strict: StrictChecks): Promise<void> {
  if (!strict.resolveHosts && !strict.refuseLoopback) return;
  const host = new URL(url).hostname.replace(/^\[|\]$/g, "");
  const address = await resolve(host);
  if (address === undefined && strict.resolveHosts) {
    throw new ApiError(
      400,
      `invalid destination url: unable to resolve host: lookup ${host}: no such host`,
    );
  }
  if (strict.refuseLoopback && address && (address === "::1" || address.startsWith("127."))) {
    throw new ApiError(
      400,
      `invalid destination url: endpoint resolves to a loopback address: ${address}`,
    );
  }
}

async function resolve(host: string): Promise<string | undefined> {
  try {
    return (await lookup(host)).address;
  } catch {
    return undefined;
  }
}
