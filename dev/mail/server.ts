import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { isDeepStrictEqual } from "node:util";
import { close, listen } from "../listen.js";
import { readBytes } from "../read-bytes.js";
import { type Mail, type MailError, type Message, parseMessage } from "./message.js";
import { renderPage } from "./page.js";

const MAX_BODY_BYTES = 40 * 1024 * 1024;
const MAX_KEY_CHARACTERS = 256;

const ERROR_NAMES: Record<number, string> = {
  401: "missing_api_key",
  403: "invalid_api_key",
  409: "concurrent_idempotent_requests",
  422: "validation_error",
  429: "rate_limit_exceeded",
  500: "application_error",
};

// Nothing in a mail may load or run anything; its own styles are what makes it readable.
const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/** A local server that speaks Resend's API for sending and keeps every mail to itself. */
export interface MailSink {
  url: string;
  port: number;
  /** Every mail taken so far, the oldest first. */
  mails: Mail[];
  /** Refuses the next mail that is not refused already; several calls refuse as many mails. */
  failNext(status: number, body?: unknown, headers?: Record<string, string>): void;
  /** Takes the next mail and then breaks the connection, so that its sender cannot know. */
  loseNextAnswer(): void;
  close(): Promise<void>;
}

type Failure = (response: ServerResponse) => void;

interface Box {
  mails: Mail[];
  failures: Failure[];
  answersToLose: number;
  /** Resend forgets a key after 24 hours; here it is kept as long as the server runs. */
  keys: Map<string, { message: Message; id: string }>;
}

/** Starts the mail sink. */
export async function startMailSink(options: { port?: number } = {}): Promise<MailSink> {
  const box: Box = { mails: [], failures: [], answersToLose: 0, keys: new Map() };
  const server = createServer((request, response) => {
    // Only reading the body fails here: the client is gone.
    route(request, response, box).catch(() => response.destroy());
  });
  // A client that reuses a connection just as we close it for idleness would see an error.
  server.keepAliveTimeout = 0;
  const port = await listen(server, {
    port: options.port ?? 0,
    service: "the mail sink",
    variable: "MAIL_PORT",
  });
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    mails: box.mails,
    failNext(status, body, headers) {
      const error = { statusCode: status, name: nameOf(status), message: "Failed as asked." };
      box.failures.push((response) => send(response, status, body ?? error, headers));
    },
    loseNextAnswer() {
      box.answersToLose++;
    },
    close: () => close(server),
  };
}

async function route(request: IncomingMessage, response: ServerResponse, box: Box): Promise<void> {
  const { pathname } = new URL(request.url ?? "/", "http://127.0.0.1");
  if (request.method === "POST" && pathname === "/emails") return take(request, response, box);
  if (request.method !== "GET") {
    return sendError(response, 405, "method_not_allowed", "Method is not allowed for this path.");
  }
  if (pathname === "/") {
    response.setHeader("Content-Security-Policy", PAGE_POLICY);
    response.setHeader("Content-Type", "text/html; charset=utf-8");
    response.end(renderPage(box.mails));
    return;
  }
  if (pathname === "/emails") {
    return send(response, 200, { object: "list", has_more: false, data: box.mails.toReversed() });
  }
  const mail = box.mails.find(({ id }) => pathname === `/emails/${id}`);
  if (mail) return send(response, 200, mail);
  sendError(response, 404, "not_found", "There is no such mail.");
}

async function take(request: IncomingMessage, response: ServerResponse, box: Box): Promise<void> {
  const body = await readBytes(request, MAX_BODY_BYTES);
  // This one comes from the network in front of Resend, so it is no JSON.
  if (!request.headers["user-agent"]) {
    response.writeHead(403, { "Content-Type": "text/plain" }).end("error code: 1010");
    return;
  }
  if (!/^Bearer \S+$/.test(request.headers.authorization ?? "")) {
    const message = "Missing API key in the authorization header.";
    return sendError(response, 401, "missing_api_key", message);
  }
  const failure = box.failures.shift();
  if (failure) return failure(response);
  if (body === undefined) {
    return sendError(response, 413, "validation_error", "The mail is larger than 40 MB.");
  }
  const parsed = parseMessage(body.toString());
  if ("error" in parsed) return send(response, parsed.error.statusCode, parsed.error);

  const stored = store(parsed.message, request.headers["idempotency-key"]?.toString(), box);
  if ("error" in stored) return send(response, stored.error.statusCode, stored.error);
  if (box.answersToLose > 0) {
    box.answersToLose--;
    response.socket?.destroy();
    return;
  }
  send(response, 200, { id: stored.id });
}

function store(
  message: Message,
  key: string | undefined,
  { mails, keys }: Box,
): { id: string } | { error: MailError } {
  if (key !== undefined && (key === "" || key.length > MAX_KEY_CHARACTERS)) {
    const text = "The key must be between 1-256 chars.";
    return { error: { statusCode: 400, name: "invalid_idempotency_key", message: text } };
  }
  const before = key === undefined ? undefined : keys.get(key);
  if (before && !isDeepStrictEqual(before.message, message)) {
    const text = "Same idempotency key used with a different request payload.";
    return { error: { statusCode: 409, name: "invalid_idempotent_request", message: text } };
  }
  if (before) return { id: before.id };
  const id = randomUUID();
  if (key !== undefined) keys.set(key, { message, id });
  mails.push({
    ...message,
    object: "email",
    id,
    created_at: new Date().toISOString(),
    last_event: "delivered",
    idempotency_key: key ?? null,
  });
  return { id };
}

function nameOf(status: number): string {
  return ERROR_NAMES[status] ?? (status >= 500 ? "internal_server_error" : "validation_error");
}

function send(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers?: Record<string, string>,
): void {
  response
    .writeHead(status, { "Content-Type": "application/json", ...headers })
    .end(typeof body === "string" ? body : JSON.stringify(body));
}

function sendError(response: ServerResponse, statusCode: number, name: string, message: string) {
  send(response, statusCode, { statusCode, name, message } satisfies MailError);
}
