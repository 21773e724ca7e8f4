/** Sends one e-mail through an HTTP e-mail API that speaks Resend's format. */

import * as z from "zod/mini";
import { defineJob, type Environment, FatalError, type PayloadIssue } from "../core/define-job.js";
import { urlRefusal } from "./outbound/address-policy.js";
import { answerFailure, callOutbound, type OutboundAnswer } from "./outbound/call.js";

const RECIPIENTS_MAX = 50;
const ANSWER_BYTES_MAX = 16_384;
const DETAIL_LENGTH_MAX = 500;

const mailboxSchema = z
  .string()
  .check(
    z.maxLength(320),
    z.refine(
      isMailbox,
      "must be an e-mail address, alone or as in: Ada Lovelace <ada@example.com>",
    ),
  );
const mailboxesSchema = z.union(
  [mailboxSchema, z.array(mailboxSchema).check(z.minLength(1), z.maxLength(RECIPIENTS_MAX))],
  "must be an e-mail address or a list of them",
);

const payloadSchema = z
  .strictObject({
    to: mailboxesSchema,
    /** EMAIL_FROM when left out. */
    from: z.optional(mailboxSchema),
    subject: z.string().check(
      z.minLength(1),
      z.maxLength(998),
      z.refine((subject) => !/\p{Cc}/u.test(subject), "must not contain control characters"),
    ),
    text: z.optional(z.string()),
    html: z.optional(z.string()),
    cc: z.optional(mailboxesSchema),
    bcc: z.optional(mailboxesSchema),
    replyTo: z.optional(mailboxesSchema),
  })
  .check(
    z.refine(({ text, html }) => text !== undefined || html !== undefined, {
      path: ["text"],
      message: "text or html is needed",
    }),
  );

type Payload = z.output<typeof payloadSchema>;

interface Provider {
  url: string;
  apiKey: string;
  from: string;
}

export default defineJob({
  type: "send_email",
  payload: payloadSchema,
  timeoutSeconds: 45,
  // Providers admit a few requests a second; what still meets a 429 waits as its Retry-After says.
  flowControl: { parallelism: 20, rate: 100, periodSeconds: 60 },
  refuse(payload, env): PayloadIssue[] {
    const provider = readProvider(payload, env);
    return typeof provider === "string" ? [{ path: [], message: provider }] : [];
  },
  async run({ payload, operationId, env, signal, outboundFetch }) {
    const provider = readProvider(payload, env);
    if (typeof provider === "string") throw new FatalError(provider);
    const request = {
      url: provider.url,
      method: "POST",
      headers: {
        authorization: `Bearer ${provider.apiKey}`,
        "content-type": "application/json",
        "user-agent": "antrean",
        "idempotency-key": operationId,
      },
      body: JSON.stringify(messageOf(payload, provider.from)),
      timeoutSeconds: 30,
    };
    // Not inside `once`. Where an answer was lost, only the provider knows whether the e-mail is
    // out. It honours the key for 24 hours and our own backoff is at most an hour, so the first
    // retry that gets through settles it. The ledger would cost two more round trips for each
    // e-mail and, for a repeat after 24 hours (a dead letter replayed the next day), could only
    // choose between a second e-mail and asking a human. Types that want the question can wrap
    // their own call in `once(…, { ifUnknown: "dead_letter" })`.
    return callOutbound(request, { env, signal, outboundFetch }, (answer) =>
      resultOf(answer, provider.apiKey),
    );
  },
});

/** Gives what is needed to reach the provider, or in words what the deployment lacks. */
function readProvider(payload: Payload, env: Environment): Provider | string {
  const apiKey = env.RESEND_API_KEY?.trim();
  if (!apiKey) return "this deployment cannot send e-mail: RESEND_API_KEY is not set";
  if (!/^[\x21-\x7e]+$/.test(apiKey)) return "RESEND_API_KEY has characters that no key has";
  const from = payload.from ?? env.EMAIL_FROM;
  if (!from) return "from is missing, and EMAIL_FROM, its default, is not set";
  if (!isMailbox(from)) return "EMAIL_FROM is not an e-mail address";
  const base = env.RESEND_BASE_URL?.trim() || "https://api.resend.com";
  const url = `${base.replace(/\/+$/, "")}/emails`;
  const refusal = urlRefusal(url, env.OUTBOUND_ALLOW);
  return refusal === null ? { url, apiKey, from } : `RESEND_BASE_URL: ${refusal}`;
}

/** Written member by member: the provider compares a repeat with the first request. */
function messageOf({ to, subject, text, html, cc, bcc, replyTo }: Payload, from: string) {
  return { from, to: [to].flat(), cc, bcc, reply_to: replyTo, subject, text, html };
}

const acceptedSchema = z.object({ id: z.string() });
/** Not `z.catch`: with it the bundle gets all of zod's helpers, 2 KB gzipped. */
const textSchema = z.transform((value: unknown) => (typeof value === "string" ? value : ""));
const problemSchema = z.object({ name: textSchema, message: textSchema });

async function resultOf(answer: OutboundAnswer, apiKey: string) {
  const { text } = await answer.readText(ANSWER_BYTES_MAX);
  const json = parseJson(text);
  if (answer.status >= 200 && answer.status < 300) {
    // Accepted is accepted: without an id there is nothing to quote, but sending again is worse.
    return { providerId: acceptedSchema.safeParse(json).data?.id ?? null };
  }
  const { name = "", message = "" } = problemSchema.safeParse(json).data ?? {};
  const detail = [name, message].filter(Boolean).join(": ").replaceAll(apiKey, "[key]");
  const failure = answerFailure(answer, detail.slice(0, DETAIL_LENGTH_MAX));
  // 409 means "still being processed", which passes, except for this: the key was used for another
  // e-mail (the payload was corrected, or EMAIL_FROM changed), and stays so for 24 hours.
  if (name === "invalid_idempotent_request") {
    throw new FatalError(failure.message, { code: `http_${answer.status}` });
  }
  throw failure;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A gateway's error page: the status says enough.
    return undefined;
  }
}

function isMailbox(text: string): boolean {
  const open = text.indexOf("<");
  if (open === -1) return isAddress(text);
  return (
    text.endsWith(">") && isDisplayName(text.slice(0, open)) && isAddress(text.slice(open + 1, -1))
  );
}

/** Unquoted specials would end the name: after a comma the rest would be another recipient. */
function isDisplayName(text: string): boolean {
  return /^(?:[^\p{Cc}()<>[\]:;@\\,"]+|"[^\p{Cc}"\\]*" ?)$/u.test(text) && text.trim() !== "";
}

function isAddress(text: string): boolean {
  return z.email().check(z.maxLength(254)).safeParse(text).success;
}
