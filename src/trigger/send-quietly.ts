/** Sends the requests of the QStash client without a word on the console. */

import type { Client } from "@upstash/qstash";

type Requester = Client["http"];

/**
 * Makes what sends a client's requests, each once.
 *
 * Shape:  the client's own sender writes every failure to the console, and has no option for that;
 *         a log of one JSON line an event would no longer be one. Publishing has no streams.
 * Errors: an error with the `status` alone, since QStash's text may quote the request; or what
 *         `fetch` throws.
 */
export function sendQuietly(options: { qstashUrl: string; qstashToken: string }): Requester {
  const request: Requester["request"] = async ({ path, method, headers, body }) => {
    // A cast: the client's types mean undici's headers, which every runtime's are.
    const sent = new Headers(headers as Headers | undefined);
    sent.set("Authorization", `Bearer ${options.qstashToken}`);
    const url = [options.qstashUrl.replace(/\/$/, ""), ...path].join("/");
    const response = await fetch(url, { method, headers: sent, body });
    if (response.ok) return response.json();
    // Not awaited: an unread body may hold its connection.
    response.body?.cancel().catch(() => {});
    const { status } = response;
    throw Object.assign(new Error(`QStash answered ${status}`), { status });
  };
  return { request } as Requester;
}
