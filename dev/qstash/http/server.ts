import { aborted } from "../../aborted.js";
import type { Service, ServiceAnswer, ServiceRequest } from "../../http-service.js";
import type { State } from "../state/state.js";
import type { Tenant } from "../state/tenant.js";
import { ApiError } from "../wire/api-error.js";
import { type DevContext, devRoutes } from "./dev-routes.js";
import { takePublishFault } from "./publish-faults.js";
import { type ApiAnswer, type ApiRequest, findRoute } from "./router.js";
import { routes } from "./routes.js";

const REQUEST_BYTES_MAX = 100 * 1024 * 1024; // The most that one REST call may carry.
const HEADER_BYTES_MAX = 64 * 1024; // Destinations stand in the request line and may be long.

/** Makes the HTTP side of the stand-in: authentication, routing, errors and publish faults. */
export function createApi(dev: DevContext): Service {
  return {
    bodyBytesMax: REQUEST_BYTES_MAX,
    headerBytesMax: HEADER_BYTES_MAX,
    async answer(request) {
      const answer = await reply(dev, request).catch(errorAnswer);
      return answer && toText(answer);
    },
  };
}

async function reply(dev: DevContext, incoming: ServiceRequest): Promise<ApiAnswer | undefined> {
  const request = readRequest(incoming);
  if (request.path.startsWith("/__dev/")) return control(dev, request);
  const tenant = authenticate(dev.state, request);
  const found = findRoute(routes, request.method, request.path);
  if (!found) throw new ApiError(404, `no route for ${request.method} ${request.path}`);
  const disturbance = found.route.publishes ? takePublishFault(dev.state) : undefined;
  // A hanging service has not accepted the message, one that is cut off has.
  if (disturbance === "hang") return void (await aborted(incoming.signal));
  const context = { state: dev.state, tenant, request, params: found.params };
  const answer = await found.route.handle(context);
  return disturbance === "cut" ? undefined : answer;
}

async function control(dev: DevContext, request: ApiRequest): Promise<ApiAnswer> {
  const found = findRoute(devRoutes, request.method, request.path);
  if (!found) throw new ApiError(404, `no control ${request.method} ${request.path}`);
  try {
    return await found.route.handle({ ...dev, request });
  } catch (error) {
    // What a control refuses (no such message, not due) is the caller's fault.
    if (error instanceof ApiError || !(error instanceof Error)) throw error;
    throw new ApiError(409, error.message);
  }
}

function authenticate(state: State, request: ApiRequest): Tenant {
  const bearer = /^Bearer\s+(.+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
  const token = bearer ?? request.query.get("qstash_token");
  const tenant = state.tenants.find((each) => each.token === token);
  if (!tenant) throw new ApiError(401, token ? "invalid token" : "missing token");
  return tenant;
}

function readRequest({ target, body, ...head }: ServiceRequest): ApiRequest {
  if (body === undefined) throw new ApiError(413, "request body is too large");
  // The raw target: a parsed one would lose the "//" of a destination in the path.
  const queryAt = target.indexOf("?");
  const rawQuery = queryAt < 0 ? undefined : target.slice(queryAt + 1);
  return {
    ...head,
    path: queryAt < 0 ? target : target.slice(0, queryAt),
    rawQuery,
    query: new URLSearchParams(rawQuery),
    body,
  };
}

function errorAnswer(error: unknown): ApiAnswer {
  if (error instanceof ApiError) {
    return { status: error.status, body: { error: error.message }, headers: error.headers };
  }
  // Malformed percent signs in the path.
  if (error instanceof URIError) return { status: 400, body: { error: error.message } };
  console.error("[qstash] a request failed in the stand-in itself:", error);
  return { status: 500, body: { error: "internal error of the stand-in" } };
}

function toText({ status, body, headers }: ApiAnswer): ServiceAnswer {
  if (body === undefined) return { status, headers, text: "" };
  const type = { "Content-Type": "application/json" };
  return { status, headers: { ...type, ...headers }, text: JSON.stringify(body) };
}
