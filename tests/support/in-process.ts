/**
 * Calls from this process to a stand-in of this process, without a socket.
 *
 * Two programs would talk over one; in tests of the tier flow both ends are one program, and the
 * socket was a sixth of their work. Drivers, requests and answers are the same. What only a socket
 * shows is asked in the tiers contract, race, runtime and e2e, whose calls go over one.
 */

import type { Service, ServiceAnswer } from "../../dev/http-service.js";

interface Mounted {
  service: Service;
  /** Those under way; aborting one breaks it. */
  calls: Set<AbortController>;
}

/** By origin, such as `http://127.0.0.1:8080`. */
const mounted = new Map<string, Mounted>();

const overSockets = globalThis.fetch;
globalThis.fetch = (input, init) => {
  const url = typeof input === "string" || input instanceof URL ? new URL(input) : undefined;
  const at = url && mounted.get(url.origin);
  const { body } = init ?? {};
  if (!at || !(body === undefined || typeof body === "string")) return overSockets(input, init);
  return call(at, `${url.pathname}${url.search}`, body, init ?? {});
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
  target: string,
  body: string | undefined,
  { method = "GET", headers, signal }: RequestInit,
): Promise<Response> {
  signal?.throwIfAborted();
  const gone = new AbortController();
  const broken = Promise.withResolvers<never>();
  gone.signal.addEventListener("abort", () => broken.reject(gone.signal.reason));
  const giveUp = () => gone.abort(signal?.reason);
  signal?.addEventListener("abort", giveUp);
  calls.add(gone);
  try {
    const bytes = Buffer.from(body ?? "");
    const answering = service.answer({
      method,
      target,
      headers: new Headers(headers),
      body: bytes.length > service.bodyBytesMax ? undefined : bytes,
      callerIp: "127.0.0.1",
      signal: gone.signal,
    });
    return toResponse(await Promise.race([answering, broken.promise]));
  } finally {
    calls.delete(gone);
    signal?.removeEventListener("abort", giveUp);
  }
}

function toResponse(answer: ServiceAnswer | undefined): Response {
  if (!answer) throw connectionError();
  const { status, headers, text } = answer;
  return new Response(text === "" ? null : text, { status, headers });
}

/** As `fetch` reports a connection that broke. */
function connectionError(): TypeError {
  const cause = Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" });
  return new TypeError("fetch failed", { cause });
}
