/** Reads what QStash remembers of this deployment's messages, with its client. */

import { Client } from "@upstash/qstash";
import { messageSchema } from "../core/message.js";
import type { DeadMessage, RecordedMessage, TriggerRecords } from "../core/reconcile.js";
import { withinLimit } from "./within-limit.js";

export interface RecordsOptions {
  qstashUrl: string;
  qstashToken: string;
  /** The present address and former ones: messages to both are ours, and no others. */
  publicUrls: string[];
  sleep: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
}

const CALL_SECONDS = 10;
/** The most that QStash gives in one call. */
const DEAD_MESSAGES_PER_CALL = 100;
const LOGGED_PER_CALL = 1000;
const DEAD_MESSAGE_CALLS_MAX = 50;
const LOG_CALLS_MAX = 20;

/**
 * Makes the reader; an account is shared with other applications, so the destination decides.
 *
 * Source: https://upstash.com/docs/qstash/api-reference
 */
export function createRecords(options: RecordsOptions): TriggerRecords {
  const { qstashUrl, qstashToken, publicUrls, sleep } = options;
  const client = new Client({
    baseUrl: qstashUrl,
    token: qstashToken,
    devMode: false,
    retry: { retries: 1 },
    enableTelemetry: false,
  });
  const urls = publicUrls.map((each) => `${each}/api/process`);
  const isOurs = ({ url }: { url?: string }) => url !== undefined && urls.includes(url);
  const limited = <Answer>(call: Promise<Answer>) => withinLimit(call, CALL_SECONDS, sleep);
  return {
    async deadMessages() {
      const messages: DeadMessage[] = [];
      const isComplete = await readPages(DEAD_MESSAGE_CALLS_MAX, async (cursor) => {
        const filter = { url: urls };
        const count = DEAD_MESSAGES_PER_CALL;
        const page = await limited(client.dlq.listMessages({ filter, count, cursor }));
        for (const each of page.messages.filter(isOurs)) {
          const { dlqId, createdAt, responseStatus, messageId } = each;
          const body = readBody({ text: each.body, base64: each.bodyBase64 });
          messages.push({ messageId, dlqId, createdAtMs: createdAt, responseStatus, ...body });
        }
        return page.cursor;
      });
      return { messages, isComplete };
    },
    async deleteDeadMessages(dlqIds) {
      for (let at = 0; at < dlqIds.length; at += DEAD_MESSAGES_PER_CALL) {
        // An array of ids also where it is one: the client's call for one refuses an id that is gone.
        await limited(client.dlq.delete(dlqIds.slice(at, at + DEAD_MESSAGES_PER_CALL)));
      }
    },
    async logged(state, sinceMs) {
      const messages: RecordedMessage[] = [];
      let oldestMs = Number.POSITIVE_INFINITY;
      const isComplete = await readPages(LOG_CALLS_MAX, async (cursor) => {
        const filter = { url: urls, state, fromDate: Math.floor(sinceMs) };
        const page = await limited(client.logs({ filter, count: LOGGED_PER_CALL, cursor }));
        for (const { messageId, body, time, url } of page.logs) {
          oldestMs = Math.min(oldestMs, time);
          if (isOurs({ url })) messages.push({ messageId, ...readBody({ base64: body }) });
        }
        return page.cursor;
      });
      return { messages, completeSinceMs: isComplete ? sinceMs : oldestMs };
    },
  };
}

/** Reads page after page; gives false when the bound came before the end. */
async function readPages(
  callsMax: number,
  read: (cursor: string | undefined) => Promise<string | undefined>,
): Promise<boolean> {
  let cursor: string | undefined;
  for (let calls = 0; calls < callsMax; calls += 1) {
    cursor = await read(cursor);
    if (!cursor) return true;
  }
  return false;
}

type Body = { text?: string | undefined; base64?: string | undefined };

/** What QStash shows in place of a body that was published to be hidden. */
const REDACTED = /^REDACTED\b/;

/** A body may be hidden, or be something else than JSON, which ours are not; neither is a fault. */
function readBody({ text, base64 }: Body): Pick<RecordedMessage, "message" | "isReadable"> {
  let shown = "";
  try {
    shown = text ?? decoded(base64 ?? "");
    const { data } = messageSchema.safeParse(JSON.parse(shown));
    return { message: data ?? null, isReadable: true };
  } catch {
    return { message: null, isReadable: shown !== "" && !REDACTED.test(shown) };
  }
}

function decoded(base64: string): string {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return new TextDecoder().decode(bytes);
}
