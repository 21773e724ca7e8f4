/** Signs a request as Standard Webhooks says, so that receivers can tell who sent it, and once. */

import { Webhook } from "standardwebhooks";

/** Gives why a signing secret cannot be used, or null; an empty one means "do not sign". */
export function signingSecretFault(secret: string | undefined): string | null {
  if (!secret) return null;
  try {
    new Webhook(secret);
    return null;
  } catch {
    return "WEBHOOK_SIGNING_SECRET is not a Standard Webhooks secret (whsec_ and Base64)";
  }
}

/**
 * Makes the three Standard Webhooks headers; none without a secret.
 *
 * The id is the job's on every attempt, so that receivers can drop repeats; the timestamp is this
 * attempt's, since receivers refuse old ones.
 */
export function signatureHeaders(
  secret: string | undefined,
  message: { id: string; body: string; sentAt: Date },
): Record<string, string> {
  if (!secret) return {};
  return {
    "webhook-id": message.id,
    "webhook-timestamp": String(Math.floor(message.sentAt.getTime() / 1000)),
    "webhook-signature": new Webhook(secret).sign(message.id, message.sentAt, message.body),
  };
}
