import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { close, listen } from "../listen.js";
import { readBody } from "../read-body.js";
import { type ArmedFault, type Fault, FaultSwitch } from "./faults.js";
import { type Answer, encodeError, encodeResults, parseWork, type Work } from "./protocol.js";
import { openSessions, type Sessions } from "./sessions.js";

const MAX_BODY_BYTES = 10 * 1024 * 1024;
const DEFAULT_MAX_CONNECTIONS = 40;

/** A local endpoint that speaks the HTTP protocol of Neon's driver, in front of one database. */
export interface NeonStandIn {
  /** For `neonConfig.fetchEndpoint`. */
  endpoint: string;
  port: number;
  /** How many requests with statements came so far; a test may set it back. */
  requests: number;
  setFault(fault: Fault | null): ArmedFault;
  close(): Promise<void>;
}

/**
 * Starts the stand-in; whatever database a request names, it is run in the one given here.
 *
 * @param options.sessions of somebody who closes them: they outlive the stand-in
 */
export async function startNeon(options: {
  databaseUrl: string;
  port?: number;
  maxConnections?: number;
  sessions?: Sessions;
}): Promise<NeonStandIn> {
  const { databaseUrl, maxConnections = DEFAULT_MAX_CONNECTIONS } = options;
  const sessions =
    options.sessions ?? openSessions(databaseUrl, { maxConnections, keepsState: false });
  const faults = new FaultSwitch();
  const underWay = new Set<Promise<void>>();
  const server = createServer((request, response) => {
    const handled = handle(request, response, { sessions, faults, count: () => neon.requests++ });
    underWay.add(handled);
    void handled.finally(() => underWay.delete(handled));
  });
  // A client that reuses a connection just as we close it for idleness would see an error.
  server.keepAliveTimeout = 0;

  const port = await listen(server, {
    port: options.port ?? 0,
    service: "the Neon stand-in",
    variable: "NEON_PORT",
  });
  const neon: NeonStandIn = {
    endpoint: `http://127.0.0.1:${port}/sql`,
    port,
    requests: 0,
    setFault: (fault) => faults.set(fault),
    async close() {
      // Closing the connections aborts the requests, so that none waits for its lock for ever.
      await close(server);
      await Promise.all(underWay);
      if (sessions !== options.sessions) await sessions.close();
    },
  };
  return neon;
}

interface Context {
  sessions: Sessions;
  faults: FaultSwitch;
  count: () => void;
}

async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  context: Context,
): Promise<void> {
  if (request.method !== "POST" || request.url !== "/sql") {
    return send(response, { status: 404, body: { message: "Only POST /sql is served here." } });
  }
  const abort = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) abort.abort();
  });
  try {
    const body = await readBody(request, MAX_BODY_BYTES);
    if (body === undefined) return send(response, tooLarge());
    const work = parseWork(request.headers, body);
    context.count();
    await answer(work, response, abort.signal, context);
  } catch (error) {
    send(response, encodeError(error));
  }
}

async function answer(
  work: Work,
  response: ServerResponse,
  signal: AbortSignal,
  { sessions, faults }: Context,
): Promise<void> {
  const fault = faults.strike(work.statements);
  if (fault?.action === "refuse") return hangUp(response);
  if (fault?.action === "status") {
    return send(response, {
      status: fault.status,
      body: { message: `HTTP status ${fault.status}, as asked` },
    });
  }
  if (fault?.action === "hang") {
    await Promise.race([fault.cleared, aborted(signal)]);
    return hangUp(response);
  }
  if (fault?.action === "delay") await Promise.race([fault.until, aborted(signal)]);

  const outcome = await sessions
    .run(work, signal)
    .then((results) => encodeResults(work, results), encodeError);
  if (fault?.action === "lose-answer") return hangUp(response);
  send(response, outcome);
}

function send(response: ServerResponse, { status, body }: Answer): void {
  const text = JSON.stringify(body);
  // Node would send it in chunks otherwise, which are four writes instead of one.
  const headers = {
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(text),
  };
  // The client may be gone by now, and then nobody reads this.
  response.writeHead(status, headers).end(text);
}

function hangUp(response: ServerResponse): void {
  response.socket?.destroy();
}

function tooLarge(): Answer {
  return {
    status: 413,
    body: { message: `request is too large (max is ${MAX_BODY_BYTES} bytes)` },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  signal.addEventListener("abort", () => resolve(), { once: true });
  return promise;
}
