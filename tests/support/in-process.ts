/**
 * Calls from this process to a stand-in of this process, without a socket.
 *
 * Two programs would talk over one; in tests of the tiers flow, race and e2e both ends are one
 * program, and the socket was a sixth of their work. What only a socket shows (what Node adds to a
 * request, how it bounds heads, broken transfers) is asked in the tiers contract and runtime.
 */

import { setImmediate } from "node:timers/promises";
import { NO_BODY, type Service, type ServiceAnswer } from "../../dev/http-service.js";

interface Mounted {
  service: Service;
  /** Those under way; aborting one breaks it. */
  calls: Set<AbortController>;
}

/** By origin, such as `http://127.0.0.1:8080`. */
const mounted = new Map<string, Mounted>();

const overSockets = globalThis.fetch;
/** Only for what drivers send, an address and a text; anything else goes over a socket. */
globalThis.fetch = async (input, init = {}) => {
  const at = input instanceof Request ? undefined : mounted.get(new URL(input).origin);
  const { body } = init;
  if (!at || !(body === undefined || typeof body === "string")) return overSockets(input, init);
  // As strict as over a socket, and with the same headers by default.
  const request = new Request(input, { ...init, signal: null });
  return call(at, request, body, init.signal ?? undefined);
};

/** Lets calls to the origin of this URL go without a socket; what it gives breaks those under way. */
export function mountInProcess(url: string, service: Service): () => void {
  const { origin } = new URL(url);
  const calls = new Set<AbortController>();
  mounted.set(origin, { service, calls });
  return () => {
    mounted.delete(origin);
    for (const call of calls) call.abort(connectionError());
  };
}

async function call(
  { service, calls }: Mounted,
  { method, url, headers }: Request,
  body = "",
  caller?: AbortSignal,
): Promise<Response> {
  caller?.throwIfAborted();
  const gone = new AbortController();
  const broken = Promise.withResolvers<never>();
  gone.signal.addEventListener("abort", () => broken.reject(gone.signal.reason));
  const giveUp = () => gone.abort(caller?.reason);
  caller?.addEventListener("abort", giveUp);
  calls.add(gone);
  try {
    const bytes = Buffer.from(body);
    const answering = service.answer({
      method,
      target: url.slice(new URL(url).origin.length),
      headers,
      body: bytes.length > service.bodyBytesMax ? undefined : bytes,
      callerIp: "127.0.0.1",
      signal: gone.signal,
    });
    const answer = await Promise.race([answering, broken.promise]);
    // Timers have their turn between calls, as they have while a socket is waited for.
    await Promise.race([setImmediate(), broken.promise]);
    return toResponse(answer);
  } finally {
    calls.delete(gone);
    caller?.removeEventListener("abort", giveUp);
  }
}

function toResponse(answer: ServiceAnswer | undefined): Response {
  if (!answer) throw connectionError();
  const { status, headers, text } = answer;
  return new Response(NO_BODY.includes(status) ? null : text, { status, headers });
}

/** As `fetch` reports a connection that broke. */
function connectionError(): TypeError {
  const cause = Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" });
  return new TypeError("fetch failed", { cause });
}
