import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { State } from "../state/state.js";
import type { Tenant } from "../state/tenant.js";
import { ApiError } from "../wire/api-error.js";
import { type DevContext, devRoutes } from "./dev-routes.js";
import { takePublishFault } from "./publish-faults.js";
import { type ApiAnswer, type ApiRequest, findRoute } from "./router.js";
import { routes } from "./routes.js";

const maxRequestBytes = 100 * 1024 * 1024; // The most that one REST call may carry.
const maxHeaderBytes = 64 * 1024; // Destinations stand in the request line and may be long.

/** What goes back: without an answer the caller waits for ever; a cut one was given, but is lost. */
interface Reply {
  readonly answer?: ApiAnswer;
  readonly isCut?: boolean;
}

/** Makes the HTTP side of the stand-in: authentication, routing, errors and publish faults. */
export function createApiServer(dev: DevContext): Server {
  return createServer({ maxHeaderSize: maxHeaderBytes }, async (incoming, outgoing) => {
    const { answer, isCut } = await reply(dev, incoming).catch((error: unknown) => ({
      answer: errorAnswer(error),
      isCut: false,
    }));
    if (isCut) outgoing.destroy();
    else if (answer) send(outgoing, answer);
  });
}

async function reply(dev: DevContext, incoming: IncomingMessage): Promise<Reply> {
  const request = await readRequest(incoming);
  if (request.path.startsWith("/__dev/")) return { answer: await control(dev, request) };
  const tenant = authenticate(dev.state, request);
  const found = findRoute(routes, request.method, request.path);
  if (!found) throw new ApiError(404, `no route for ${request.method} ${request.path}`);
  const disturbance = found.route.publishes ? takePublishFault(dev.state) : undefined;
  // A hanging service has not accepted the message, one that is cut off has.
  if (disturbance === "hang") return {};
  const context = { state: dev.state, tenant, request, params: found.params };
  return { answer: await found.route.handle(context), isCut: disturbance === "cut" };
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

async function readRequest(incoming: IncomingMessage): Promise<ApiRequest> {
  // The raw target: a parsed one would lose the "//" of a destination in the path.
  const target = incoming.url ?? "/";
  const queryAt = target.indexOf("?");
  const rawQuery = queryAt < 0 ? undefined : target.slice(queryAt + 1);
  return {
    method: incoming.method ?? "GET",
    path: queryAt < 0 ? target : target.slice(0, queryAt),
    rawQuery,
    query: new URLSearchParams(rawQuery),
    headers: readHeaders(incoming),
    body: await readBody(incoming),
    callerIp: (incoming.socket.remoteAddress ?? "").replace(/^::ffff:/, ""),
  };
}

function readHeaders(incoming: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries(incoming.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  return headers;
}

async function readBody(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of incoming) {
    length += chunk.length;
    if (length > maxRequestBytes) throw new ApiError(413, "request body is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
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

function send(outgoing: ServerResponse, { status, body, headers }: ApiAnswer): void {
  const text = body === undefined ? "" : JSON.stringify(body);
  if (text) outgoing.setHeader("Content-Type", "application/json");
  outgoing.writeHead(status, headers).end(text);
}
