import * as z from "zod";
import type { State } from "../state/state.js";
import type { Tenant } from "../state/tenant.js";
import type { Endpoint, UrlGroup } from "../state/url-group.js";
import { ApiError } from "../wire/api-error.js";
import { assertHttpDestination } from "../wire/destination.js";
import { toHeaders } from "../wire/headers.js";
import { assertName } from "../wire/names.js";
import { parseBody } from "./request-body.js";
import { type ApiAnswer, type Context, ok, type Route } from "./router.js";

/** URL groups, "topics" on the wire. */
export const urlGroupRoutes: readonly Route[] = [
  { method: "GET", pattern: "/v2/topics", handle: list },
  { method: "GET", pattern: "/v2/topics/:name", handle: show },
  { method: "PATCH", pattern: "/v2/topics/:name", handle: setDefaultHeaders },
  { method: "DELETE", pattern: "/v2/topics/:name", handle: remove },
  { method: "POST", pattern: "/v2/topics/:name/endpoints", handle: addEndpoints },
  { method: "DELETE", pattern: "/v2/topics/:name/endpoints", handle: removeEndpoints },
];

const addSchema = z.object({
  endpoints: z.array(z.object({ url: z.string(), name: z.string().optional() })).min(1),
});
const removeSchema = z.object({
  endpoints: z.array(z.object({ url: z.string().optional(), name: z.string().optional() })).min(1),
});
const headersSchema = z.object({ headers: z.record(z.string(), z.string()) });

function list({ tenant }: Context): ApiAnswer {
  return { status: 200, body: [...tenant.urlGroups.values()].map(view) };
}

function show(context: Context): ApiAnswer {
  return { status: 200, body: view(find(context)) };
}

function setDefaultHeaders(context: Context): ApiAnswer {
  const group = find(context);
  const { headers } = parseBody(context.request.body, headersSchema);
  group.defaultHeaders = toHeaders(Object.entries(headers));
  group.updatedAt = context.state.clock.now();
  return ok;
}

/** Deleting a group that is not there succeeds: clean-up code relies on it. */
function remove({ tenant, params }: Context): ApiAnswer {
  tenant.urlGroups.delete(params.name ?? "");
  return ok;
}

function addEndpoints({ state, tenant, request, params }: Context): ApiAnswer {
  const { endpoints } = parseBody(request.body, addSchema);
  for (const { url } of endpoints) assertHttpDestination(url);
  const group = ensureGroup(state, tenant, params.name ?? "");
  const kept = group.endpoints.filter((old) => !endpoints.some((added) => isSame(old, added)));
  const { maxEndpointsPerGroup } = state.plan;
  if (kept.length + endpoints.length > maxEndpointsPerGroup) {
    throw new ApiError(
      412,
      `quota maxEndpointsPerTopic exceeded, current limit: ${maxEndpointsPerGroup}`,
    );
  }
  group.endpoints = [...kept, ...endpoints];
  group.updatedAt = state.clock.now();
  tenant.urlGroups.set(group.name, group);
  return ok;
}

function removeEndpoints(context: Context): ApiAnswer {
  const group = find(context);
  const { endpoints } = parseBody(context.request.body, removeSchema);
  group.endpoints = group.endpoints.filter((old) => !endpoints.some((gone) => isSame(old, gone)));
  group.updatedAt = context.state.clock.now();
  if (group.endpoints.length === 0) context.tenant.urlGroups.delete(group.name);
  return ok;
}

/** An endpoint is known by its URL, and by its name where it has one. */
function isSame(endpoint: Endpoint, other: Partial<Endpoint>): boolean {
  return (
    endpoint.url === other.url || (endpoint.name !== undefined && endpoint.name === other.name)
  );
}

function ensureGroup(state: State, tenant: Tenant, name: string): UrlGroup {
  assertName(name, "url group name");
  const known = tenant.urlGroups.get(name);
  if (known) return known;
  const { maxUrlGroups } = state.plan;
  if (tenant.urlGroups.size >= maxUrlGroups) {
    throw new ApiError(412, `quota maxTopics exceeded, current limit: ${maxUrlGroups}`);
  }
  const now = state.clock.now();
  return { name, createdAt: now, updatedAt: now, endpoints: [], defaultHeaders: new Headers() };
}

function view({ name, createdAt, updatedAt, endpoints }: UrlGroup): object {
  return { name, createdAt, updatedAt, endpoints };
}

function find({ tenant, params }: Context): UrlGroup {
  const group = tenant.urlGroups.get(params.name ?? "");
  if (!group) throw new ApiError(404, `url group ${params.name} not found`);
  return group;
}
