/** Runs a job's handler without the engine, against real servers on this machine. */

import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import * as z from "zod";
import { close, listen } from "../../dev/listen.js";
import type { Environment, JobContext, JobDefinition } from "../../src/core/define-job.js";
import { classifyFailure } from "../../src/core/errors.js";
import httpRequest from "../../src/jobs/http_request.js";

export const OPERATION_ID = "01890a5d-ac96-774b-bcce-b302099a8057";

export type ContextOverrides = Partial<Omit<JobContext<unknown>, "payload">>;

/** Runs the handler as the engine would: the payload goes through the type's schema. */
export async function runJob<Schema extends z.core.$ZodType>(
  definition: JobDefinition<Schema>,
  payload: z.input<Schema>,
  overrides: ContextOverrides = {},
) {
  return definition.run({
    payload: z.parse(definition.payload, payload),
    operationId: OPERATION_ID,
    attempt: 1,
    signal: new AbortController().signal,
    once: () => Promise.reject(new Error("the handler must not use the ledger")),
    progress: () => Promise.resolve(),
    snooze: () => {
      throw new Error("the handler must not snooze");
    },
    log: () => undefined,
    traceparent: null,
    env: {},
    outboundFetch: fetch,
    ...overrides,
  });
}

/** Gives what a promise rejects with. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => {
      throw new Error(`expected a rejection, got ${JSON.stringify(value)}`);
    },
    (error: unknown) => error,
  );
}

/** Tells how the engine will take what a handler threw. */
export async function failure(run: Promise<unknown>) {
  return classifyFailure(await rejection(run), Date.now());
}

/** Gives the issues that creating a job with this payload would be refused with. */
export function createIssues<Schema extends z.core.$ZodType>(
  definition: JobDefinition<Schema>,
  payload: unknown,
  env: Environment = {},
) {
  const parsed = z.safeParse(definition.payload, payload);
  return parsed.success ? definition.refuse(parsed.data, env) : parsed.error.issues;
}

/** Runs an http_request against a target that OUTBOUND_ALLOW opens. */
export function call(
  target: Target,
  payload: Partial<z.input<typeof httpRequest.payload>> = {},
  { env, ...overrides }: ContextOverrides = {},
) {
  return runJob(
    httpRequest,
    { url: `${target.url}/hook`, method: "POST", ...payload },
    { env: { OUTBOUND_ALLOW: target.place, ...env }, ...overrides },
  );
}

export interface SeenRequest {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Target {
  url: string;
  /** `host:port`, as OUTBOUND_ALLOW takes it. */
  place: string;
  port: number;
  requests: SeenRequest[];
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts a server that keeps what it was asked and answers by the handler. */
export async function startTarget(
  answer: (response: ServerResponse, request: SeenRequest, count: number) => void,
): Promise<Target> {
  const requests: SeenRequest[] = [];
  const server = createServer(async (incoming, response) => {
    const { method = "", url = "", headers } = incoming;
    const request = { method, url, headers, body: await text(incoming) };
    requests.push(request);
    answer(response, request, requests.length);
  });
  const port = await listen(server, { port: 0, service: "test target" });
  return {
    url: `http://127.0.0.1:${port}`,
    place: `127.0.0.1:${port}`,
    port,
    requests,
    [Symbol.asyncDispose]: () => close(server),
  };
}

/** Starts a server that always answers alike. */
export function answering(status: number, headers: Record<string, string> = {}, body = "") {
  return startTarget((response) => response.writeHead(status, headers).end(body));
}

/** Writes without end for as long as somebody takes it. */
export function pourForever(stream: NodeJS.WritableStream & { destroyed?: boolean }): void {
  const chunk = Buffer.alloc(65_536, "a");
  const pour = () => {
    while (!stream.destroyed && stream.write(chunk));
  };
  stream.on("drain", pour);
  pour();
}

/** Resolves when the other side has left the connection of this answer. */
export async function hungUp(response: ServerResponse): Promise<void> {
  if (!response.closed) await once(response, "close");
}
