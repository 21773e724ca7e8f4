/** Deliveries that a test makes by hand: signed as QStash signs, or deliberately not. */

import { randomUUID } from "node:crypto";
import { signDelivery } from "../../dev/qstash/wire/signature.js";
import type { Flow } from "./flow-world.js";
import { PUBLIC_URL } from "./world.js";

export interface HandMade {
  jobId?: string;
  type?: string;
  seq?: number;
  /** The body instead of the message made of the members above. */
  body?: string | Uint8Array;
  messageId?: string | null;
  retried?: number | string;
  /** Instead of a good one; null for none. */
  signature?: string | null;
  /** Signs with this key instead of the current one. */
  key?: string;
  /** The URL that is signed. */
  url?: string;
  issuedAgoSeconds?: number;
  nbf?: "zero" | "iat";
}

/** Makes a delivery; what is not given is as QStash would send it. */
export function handMade(flow: Pick<Flow, "qstash">, given: HandMade = {}): Request {
  const message = {
    v: 1,
    jobId: given.jobId,
    type: given.type ?? "test.script",
    seq: given.seq ?? 1,
  };
  const body = given.body ?? JSON.stringify(message);
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const claims = {
    url: given.url ?? `${PUBLIC_URL}/api/process`,
    body: bytes,
    issuedAtSeconds: Math.floor(Date.now() / 1000) - (given.issuedAgoSeconds ?? 0),
    nbf: given.nbf ?? ("zero" as const),
  };
  const headers = new Headers({ "content-type": "application/json" });
  const signature =
    given.signature === undefined
      ? signDelivery(claims, given.key ?? flow.qstash.keys().current)
      : given.signature;
  if (signature !== null) headers.set("upstash-signature", signature);
  const messageId = given.messageId === undefined ? `msg_${randomUUID()}` : given.messageId;
  if (messageId !== null) headers.set("upstash-message-id", messageId);
  headers.set("upstash-retried", String(given.retried ?? 0));
  return new Request(`${PUBLIC_URL}/api/process`, {
    method: "POST",
    headers,
    body: bytes as BodyInit,
  });
}

export interface Answered {
  status: number;
  body: Record<string, unknown>;
  headers: Headers;
}

/** Reads an answer. */
export async function answered(response: Response | Promise<Response>): Promise<Answered> {
  const given = await response;
  const { status, headers } = given;
  return { status, headers, body: (await given.json()) as Record<string, unknown> };
}

/** Sends a hand-made delivery to the instance that serves. */
export function send(flow: Flow, given: HandMade): Promise<Answered> {
  return answered(flow.instance.fetch(handMade(flow, given)));
}

/** Sends a captured delivery once more, some headers changed; the signature does not cover them. */
export function sendAgain(
  flow: Flow,
  captured: Request | undefined,
  headers: Record<string, string> = {},
): Promise<Answered> {
  if (!captured) throw new Error("nothing was captured");
  const copy = new Request(captured.clone());
  for (const [name, value] of Object.entries(headers)) copy.headers.set(name, value);
  return answered(flow.instance.fetch(copy));
}
