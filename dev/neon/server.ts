import { aborted } from "../aborted.js";
import {
  createServiceServer,
  type Service,
  type ServiceAnswer,
  type ServiceRequest,
} from "../http-service.js";
import { close, listen } from "../listen.js";
import { type ArmedFault, type Fault, FaultSwitch } from "./faults.js";
import { type Answer, encodeError, encodeResults, parseWork, type Work } from "./protocol.js";
import { openSessions, type Sessions } from "./sessions.js";

const BODY_BYTES_MAX = 10 * 1024 * 1024;
const DEFAULT_MAX_CONNECTIONS = 40;

/** A local endpoint that speaks the HTTP protocol of Neon's driver, in front of one database. */
export interface NeonStandIn {
  /** For `neonConfig.fetchEndpoint`. */
  endpoint: string;
  port: number;
  /** What answers at the endpoint, for callers without a socket. */
  service: Service;
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
  const underWay = new Set<Promise<unknown>>();
  const service: Service = {
    bodyBytesMax: BODY_BYTES_MAX,
    answer(request) {
      const handled = handle(request, { sessions, faults, count: () => neon.requests++ });
      underWay.add(handled);
      void handled.finally(() => underWay.delete(handled));
      return handled.then((answer) => answer && toText(answer));
    },
  };
  const server = createServiceServer(service);
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
    service,
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

async function handle(request: ServiceRequest, context: Context): Promise<Answer | undefined> {
  if (request.method !== "POST" || request.target !== "/sql") {
    return { status: 404, body: { message: "Only POST /sql is served here." } };
  }
  if (request.body === undefined) return tooLarge();
  try {
    const work = parseWork(request.headers, request.body.toString());
    context.count();
    return await run(work, request.signal, context);
  } catch (error) {
    return encodeError(error);
  }
}

async function run(
  work: Work,
  signal: AbortSignal,
  { sessions, faults }: Context,
): Promise<Answer | undefined> {
  const fault = faults.strike(work.statements);
  if (fault?.action === "refuse") return undefined;
  if (fault?.action === "status") {
    return {
      status: fault.status,
      body: { message: `HTTP status ${fault.status}, as asked` },
    };
  }
  if (fault?.action === "hang") {
    await Promise.race([fault.cleared, aborted(signal)]);
    return undefined;
  }
  if (fault?.action === "delay") await Promise.race([fault.until, aborted(signal)]);

  const answer = await sessions
    .run(work, signal)
    .then((results) => encodeResults(work, results), encodeError);
  return fault?.action === "lose-answer" ? undefined : answer;
}

function toText({ status, body }: Answer): ServiceAnswer {
  return {
    status,
    headers: { "Content-Type": "application/json" },
    text: JSON.stringify(body),
  };
}

function tooLarge(): Answer {
  return {
    status: 413,
    body: { message: `request is too large (max is ${BODY_BYTES_MAX} bytes)` },
  };
}
