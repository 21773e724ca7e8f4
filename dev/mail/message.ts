import * as z from "zod";

const MAX_RECIPIENTS = 50;

// "name@host" or "Name <name@host>"; anything finer is the business of the receiving server.
const ADDRESS = /^(?:[^<>]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/;

const Address = z
  .string()
  .regex(
    ADDRESS,
    "The email address needs to follow the `email@example.com` or `Name <email@example.com>` format.",
  );

const Addresses = z.preprocess(
  (value) => (typeof value === "string" ? [value] : (value ?? [])),
  z.array(Address).max(MAX_RECIPIENTS),
);

const Message = z.looseObject({
  from: Address,
  to: Addresses,
  cc: Addresses,
  bcc: Addresses,
  reply_to: Addresses,
  subject: z.string(),
  text: z.string().nullish(),
  html: z.string().nullish(),
});

/** A mail as its sender gave it, with every single address made a list. */
export type Message = z.infer<typeof Message>;

/** A mail that was taken, in the shape in which Resend shows it. */
export interface Mail extends Message {
  object: "email";
  id: string;
  created_at: string;
  last_event: "delivered";
  idempotency_key: string | null;
}

/** An error in Resend's shape. */
export interface MailError {
  statusCode: number;
  name: string;
  message: string;
}

/** Checks the body of `POST /emails` as Resend does. */
export function parseMessage(body: string): { message: Message } | { error: MailError } {
  const json = parseJson(body);
  if (!json) return invalid(400, "The request body is not a JSON object.");
  const missing = findMissing(json);
  if (missing) {
    const message = `Missing ${missing} field.`;
    return { error: { statusCode: 422, name: "missing_required_field", message } };
  }
  const parsed = Message.safeParse(json);
  if (parsed.success) return { message: parsed.data };
  const [issue] = parsed.error.issues;
  return invalid(422, `Invalid \`${String(issue?.path[0])}\` field. ${issue?.message}`);
}

function parseJson(body: string): Record<string, unknown> | undefined {
  try {
    const json: unknown = JSON.parse(body);
    return typeof json === "object" && json !== null && !Array.isArray(json)
      ? (json as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function findMissing(json: Record<string, unknown>): string | undefined {
  if (!json.from) return "`from`";
  if (!json.to || (Array.isArray(json.to) && json.to.length === 0)) return "`to`";
  // A template at Resend brings its own subject and content.
  if (json.template) return undefined;
  if (!json.subject) return "`subject`";
  if (!json.html && !json.text) return "`html` or `text`";
  return undefined;
}

function invalid(statusCode: number, message: string): { error: MailError } {
  return { error: { statusCode, name: "validation_error", message } };
}
