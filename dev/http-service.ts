/** What a stand-in does with a request, apart from the socket: tests in the same process need none. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { readBytes } from "./read-bytes.js";

/** A request as it came over the wire; nothing of the target was normalised. */
export interface ServiceRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: Headers;
  /** Undefined when it is larger than the service takes. */
  readonly body: Buffer | undefined;
  readonly callerIp: string;
  /** Aborts when the caller is gone, or the service is being closed. */
  readonly signal: AbortSignal;
}

export interface ServiceAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly text: string;
}

export interface Service {
  readonly bodyBytesMax: number;
  /** Node's own bound if absent. */
  readonly headerBytesMax?: number;
  /** Without an answer the connection is broken. */
  answer(request: ServiceRequest): Promise<ServiceAnswer | undefined>;
}

/** Answers with these have no body, whatever the text. */
export const NO_BODY = [204, 304];

/** Makes the server of a service; it does not listen yet. */
export function createServiceServer(service: Service): Server {
  const options = service.headerBytesMax ? { maxHeaderSize: service.headerBytesMax } : {};
  return createServer(options, async (incoming, outgoing) => {
    const gone = new AbortController();
    outgoing.once("close", () => {
      if (!outgoing.writableFinished) gone.abort();
    });
    let body: Buffer | undefined;
    try {
      body = await readBytes(incoming, service.bodyBytesMax);
    } catch {
      return; // The client went away while it was still sending.
    }
    try {
      const answer = await service.answer({ ...readHead(incoming), body, signal: gone.signal });
      if (answer) return send(outgoing, answer);
    } catch (error) {
      console.error("A stand-in failed at a request:", error);
    }
    outgoing.destroy();
  });
}

function readHead(incoming: IncomingMessage): Omit<ServiceRequest, "body" | "signal"> {
  const headers = new Headers();
  for (const [name, values] of Object.entries(incoming.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  return {
    method: incoming.method ?? "GET",
    target: incoming.url ?? "/",
    headers,
    callerIp: (incoming.socket.remoteAddress ?? "").replace(/^::ffff:/, ""),
  };
}

function send(outgoing: ServerResponse, { status, headers, text }: ServiceAnswer): void {
  // Node would send it in chunks otherwise, which are four writes instead of one.
  const length = NO_BODY.includes(status) ? {} : { "Content-Length": Buffer.byteLength(text) };
  // The client may be gone by now, and then nobody reads this.
  outgoing.writeHead(status, { ...headers, ...length }).end(text);
}
