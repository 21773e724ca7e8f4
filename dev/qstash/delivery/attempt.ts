import type { Answer, Message } from "../state/message.js";
import type { State } from "../state/state.js";
import type { KeyRing } from "../state/users.js";
import { signDelivery } from "../wire/signature.js";
import type { Deliver } from "./send-over-http.js";

/** Everything of one delivery that goes over the wire; copies of it are the same to the last byte. */
export interface Outgoing {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly body: Buffer;
}

/** Builds and signs the request of a message's next delivery. */
export function buildOutgoing(state: State, message: Message): Outgoing {
  const { options, route } = message;
  // The Fetch API refuses a body here, so what is signed must be the empty one that is sent.
  const body = options.method === "GET" ? Buffer.alloc(0) : message.body;
  const headers = new Headers({ "User-Agent": "Upstash-QStash" });
  for (const [name, value] of options.headers) headers.set(name, value);
  headers.set("Upstash-Message-Id", message.messageId);
  headers.set("Upstash-Retried", String(message.retried));
  headers.set("Upstash-Caller-Ip", message.callerIp);
  headers.set("Upstash-Region", state.settings.region);
  if (route.scheduleId) headers.set("Upstash-Schedule-Id", route.scheduleId);
  if (route.topicName) headers.set("Upstash-Topic-Name", route.topicName);
  headers.set("Upstash-Signature", sign(state, message, body));
  return { url: rewrite(route.url, state), method: options.method, headers, body };
}

/** Makes one delivery and reads the answer; every failure becomes an Answer with status 0. */
export async function attempt(
  outgoing: Outgoing,
  deliver: Deliver,
  signal: AbortSignal,
  maxBodyBytes: number,
): Promise<Answer> {
  const exchange = async (): Promise<Answer> => {
    const response = await deliver(toRequest(outgoing, signal));
    const body = await readBody(response, maxBodyBytes);
    return { status: response.status, headers: response.headers, body };
  };
  try {
    // Raced, because a destination in the same process need not look at the signal.
    return await Promise.race([exchange(), rejectWhenAborted(signal)]);
  } catch (error) {
    return failure(explain(error));
  }
}

/** The answer of a delivery that got none. */
export function failure(error: string): Answer {
  return { status: 0, headers: new Headers(), body: Buffer.alloc(0), error };
}

function sign(state: State, message: Message, body: Buffer): string {
  const { faults, settings } = state;
  // Receivers compare with the real clock, so the virtual one has no say in the claims.
  const issuedAtSeconds = Math.floor(Date.now() / 1000) + faults.clockOffsetSeconds;
  const claims = { url: message.route.url, body, issuedAtSeconds, nbf: settings.nbf };
  return signDelivery(claims, signingKey(message.tenant.keys, faults.signWith));
}

function signingKey(keys: KeyRing, choice: State["faults"]["signWith"]): string {
  return typeof choice === "object" ? choice.key : (keys[choice] ?? keys.current);
}

function rewrite(url: string, state: State): string {
  for (const [from, to] of state.settings.rewrites) {
    const rest = url.slice(from.length);
    // "http://example.com" must not match "http://example.community".
    if (url.startsWith(from) && /^([/?#]|$)/.test(rest)) return to + rest;
  }
  return url;
}

function toRequest({ url, method, headers, body }: Outgoing, signal: AbortSignal): Request {
  return new Request(url, {
    method,
    headers,
    body: method === "GET" ? undefined : new Uint8Array(body),
    signal,
    redirect: "manual",
  });
}

async function readBody(response: Response, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  if (response.body) {
    for await (const chunk of response.body) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= maxBytes) break;
    }
  }
  return Buffer.concat(chunks).subarray(0, maxBytes);
}

function rejectWhenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
