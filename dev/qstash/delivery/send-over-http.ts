import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { Readable } from "node:stream";

/** Calls a destination; a test puts its application's own `fetch` in this place. */
export type Deliver = (request: Request) => Promise<Response> | Response;

/**
 * Delivers over the network. Not by `fetch`, which gives up after five minutes without an answer, refuses
 * some ports and keeps connections that a restarted destination has closed.
 */
export async function sendOverHttp(request: Request): Promise<Response> {
  const body = Buffer.from(await request.arrayBuffer());
  const open = new URL(request.url).protocol === "https:" ? httpsRequest : httpRequest;
  const outgoing = open(request.url, {
    method: request.method,
    headers: { ...Object.fromEntries(request.headers), "content-length": body.length },
    signal: request.signal,
    agent: false,
  });
  // After the answer began, an abort also surfaces in the body that is being read; nobody else listens.
  outgoing.on("error", () => {});
  outgoing.end(body);
  const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
  const status = incoming.statusCode ?? 0;
  const isBodyless = status === 204 || status === 205 || status === 304;
  if (isBodyless) incoming.resume();
  return new Response(isBodyless ? null : (Readable.toWeb(incoming) as ReadableStream), {
    status,
    headers: responseHeaders(incoming),
  });
}

function responseHeaders(incoming: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries(incoming.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  return headers;
}
