/** Sends the requests of the QStash client without a word on the console. */

import type { Client } from "@upstash/qstash";

type Requester = Client["http"];

/** QStash answered, and not with 2xx; its text may quote headers, so that only the status is kept. */
class QstashStatusError extends Error {
  readonly status: number;
  constructor(status: number) {
    super(`QStash answered ${status}`);
    this.name = "QstashStatusError";
    this.status = status;
  }
}

/**
 * Makes what sends a client's requests, each once.
 *
 * Shape:  the client's own sender writes every failure to the console, and has no option for that;
 *         a log of one JSON line an event would no longer be one.
 * Errors: an error with a `status`, or what `fetch` throws.
 */
export function sendQuietly(options: { qstashUrl: string; qstashToken: string }): Requester {
  return {
    async request({ path, method, headers, body }) {
      const url = [options.qstashUrl.replace(/\/$/, ""), ...path].join("/");
      // A cast: the client's types mean undici's headers, which every runtime's are.
      const sent = new Headers(headers as Headers | undefined);
      sent.set("Authorization", `Bearer ${options.qstashToken}`);
      const response = await fetch(url, { method, headers: sent, body });
      if (!response.ok) {
        // Not awaited: an unread body may hold its connection.
        response.body?.cancel().catch(() => {});
        throw new QstashStatusError(response.status);
      }
      return response.json();
    },
    requestStream() {
      throw new TypeError("publishing has no streams");
    },
  };
}
