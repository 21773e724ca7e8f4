/** A durable HTTP call: makes it until the target has taken it, and keeps the answer. */

import * as z from "zod/mini";
import {
  defineJob,
  type Environment,
  FatalError,
  type JobContext,
  type PayloadIssue,
} from "../core/define-job.js";
import { urlRefusal } from "./outbound/address-policy.js";
import { answerFailure, callOutbound, type OutboundAnswer } from "./outbound/call.js";
import { headerIssues } from "./outbound/header-policy.js";
import { fitJsonText } from "./outbound/response.js";
import { signatureHeaders, signingSecretFault } from "./outbound/webhook-signature.js";

const CALL_SECONDS_MAX = 120;
/** What the attempt may take beyond its call, so that the call's own limit is what is reported. */
const MARGIN_SECONDS = 10;
/** With the headers below, the result stays within the 64 KiB that the store keeps of one. */
const BODY_JSON_BYTES_MAX = 49_152;
const HEADER_LENGTH_MAX = 1_024;

/** Headers of the answer that are worth keeping; cookies and the like are not ours to store. */
const KEPT_HEADERS = [
  "content-type",
  "etag",
  "last-modified",
  "location",
  "retry-after",
  "request-id",
  "x-request-id",
];

const payloadSchema = z
  .strictObject({
    url: z.string().check(z.maxLength(2_048)),
    method: z._default(z.enum(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]), "POST"),
    headers: z.optional(z.record(z.string(), z.string())),
    // Not z.json(): that rebuilds objects and would lose members named `__proto__`.
    json: z.optional(z.unknown()),
    text: z.optional(z.string()),
    /** Statuses that are a success; 200 to 299 when left out. */
    expectStatus: z.optional(
      z.array(z.int().check(z.minimum(200), z.maximum(599))).check(z.minLength(1), z.maxLength(50)),
    ),
    /** For the whole call, its body included. */
    timeoutSeconds: z._default(z.int().check(z.minimum(1), z.maximum(CALL_SECONDS_MAX)), 30),
    /** The body of the answer is cut here and marked as truncated. */
    responseBytesMax: z._default(
      z.int().check(z.minimum(0), z.maximum(BODY_JSON_BYTES_MAX)),
      16_384,
    ),
  })
  .check(
    z.refine(({ json, text }) => json === undefined || text === undefined, {
      path: ["text"],
      message: "json and text exclude each other",
    }),
    z.refine(
      ({ method, json, text }) =>
        (method !== "GET" && method !== "HEAD") || (json === undefined && text === undefined),
      { path: ["method"], message: "GET and HEAD carry no body" },
    ),
  );

type Payload = z.output<typeof payloadSchema>;
type Context = JobContext<Payload>;

export default defineJob({
  type: "http_request",
  payload: payloadSchema,
  timeoutSeconds: CALL_SECONDS_MAX + MARGIN_SECONDS,
  refuse: refusals,
  async run({ payload, operationId, traceparent, env, signal, outboundFetch }) {
    // Again at call time: the settings may have changed since the job was accepted.
    const [refusal] = refusals(payload, env);
    if (refusal)
      throw new FatalError(`${refusal.path.join(".") || "settings"}: ${refusal.message}`);
    const body = payload.json === undefined ? payload.text : JSON.stringify(payload.json);
    const request = {
      url: payload.url,
      method: payload.method,
      headers: requestHeaders(payload, { operationId, traceparent, env }, body),
      body,
      timeoutSeconds: payload.timeoutSeconds,
    };
    // Not inside `once`: the call is the whole job, and what makes a repeat harmless is the stable
    // Idempotency-Key at the target. The ledger would cost two more round trips to the database and
    // could not know either whether a call without an answer has arrived.
    return callOutbound(request, { env, signal, outboundFetch }, (answer) =>
      resultOf(payload, answer),
    );
  },
});

function refusals(payload: Payload, env: Environment): PayloadIssue[] {
  const issues: PayloadIssue[] = headerIssues(payload.headers ?? {}).map(({ path, message }) => ({
    path: ["headers", ...path],
    message,
  }));
  const urlFault = urlRefusal(payload.url, env.OUTBOUND_ALLOW);
  if (urlFault !== null) issues.unshift({ path: ["url"], message: urlFault });
  const secretFault = signingSecretFault(env.WEBHOOK_SIGNING_SECRET);
  if (secretFault !== null) issues.push({ path: [], message: secretFault });
  return issues;
}

function requestHeaders(
  payload: Payload,
  { operationId, traceparent, env }: Pick<Context, "operationId" | "traceparent" | "env">,
  body: string | undefined,
): Record<string, string> {
  const defaults: Record<string, string> = { "user-agent": "antrean" };
  // No span of our own lies between, so the context goes on as it came.
  if (traceparent !== null) defaults.traceparent = traceparent;
  if (payload.json !== undefined) defaults["content-type"] = "application/json";
  if (payload.text !== undefined) defaults["content-type"] = "text/plain; charset=utf-8";
  const chosen = Object.entries(payload.headers ?? {}).map(([name, value]) => [
    name.toLowerCase(),
    value,
  ]);
  return {
    ...defaults,
    ...Object.fromEntries(chosen),
    "idempotency-key": operationId,
    ...signatureHeaders(env.WEBHOOK_SIGNING_SECRET, {
      id: operationId,
      body: body ?? "",
      sentAt: new Date(),
    }),
  };
}

async function resultOf(payload: Payload, answer: OutboundAnswer) {
  const { status } = answer;
  const expected = payload.expectStatus?.includes(status) ?? (status >= 200 && status < 300);
  if (!expected) throw answerFailure(answer);
  const body = await answer.readText(payload.responseBytesMax);
  const { text, truncated } = fitJsonText(body, BODY_JSON_BYTES_MAX);
  const headers = KEPT_HEADERS.flatMap((name) => {
    const value = answer.headers.get(name);
    return value === null ? [] : [[name, value.slice(0, HEADER_LENGTH_MAX)]];
  });
  return { status, headers: Object.fromEntries(headers), body: text, truncated };
}
