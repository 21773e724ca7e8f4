import type { State } from "../state/state.js";
import type { Tenant } from "../state/tenant.js";

/** A request as it came over the wire; nothing of the target was normalised. */
export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly rawQuery: string | undefined;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  readonly body: Buffer;
  readonly callerIp: string;
}

export interface ApiAnswer {
  readonly status: number;
  /** Sent as JSON; nothing is sent when it is absent. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a handler works with; parameters are the parts of the path that the pattern names. */
export interface Context {
  readonly state: State;
  readonly tenant: Tenant;
  readonly request: ApiRequest;
  readonly params: Readonly<Record<string, string>>;
}

export interface Route<C = Context> {
  readonly method: string;
  /** `:name` is one decoded segment, `*name` the raw rest of the path, slashes included. */
  readonly pattern: string;
  readonly handle: (context: C) => ApiAnswer | Promise<ApiAnswer>;
  /** Accepts messages, so that the publish faults apply to it. */
  readonly publishes?: boolean;
}

export const ok: ApiAnswer = { status: 200 };

/** Finds the first route that fits and the parameters in its path. */
export function findRoute<C>(
  routes: readonly Route<C>[],
  method: string,
  path: string,
): { route: Route<C>; params: Record<string, string> } | undefined {
  for (const route of routes) {
    const found = route.method === method ? matcherOf(route.pattern).exec(path) : null;
    if (found) return { route, params: readParams(route.pattern, found.groups ?? {}) };
  }
  return undefined;
}

const matchers = new Map<string, RegExp>();

function matcherOf(pattern: string): RegExp {
  const known = matchers.get(pattern);
  if (known) return known;
  const source = pattern.replace(/:(\w+)/g, "(?<$1>[^/]+)").replace(/\*(\w+)/g, "(?<$1>.+)");
  const matcher = new RegExp(`^${source}$`);
  matchers.set(pattern, matcher);
  return matcher;
}

function readParams(pattern: string, groups: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(groups).map(([name, value]) => [
      name,
      pattern.includes(`*${name}`) ? value : decodeURIComponent(value),
    ]),
  );
}
