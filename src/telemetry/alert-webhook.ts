/** Posts alerts to the operator's webhook, signed as Standard Webhooks says. */

import type { SendAlert } from "../core/monitoring.js";

export interface AlertWebhookOptions {
  url: string;
  secret: string | undefined;
  fetch: typeof fetch;
  /** Makes the signature's headers; none without a secret. */
  sign: (
    secret: string | undefined,
    message: { id: string; body: string; sentAt: Date },
  ) => Record<string, string>;
}

/** A sweep has other work; a receiver that needs longer should take the message and think later. */
const TIMEOUT_MS = 3000;

/**
 * Makes the sender.
 *
 * Errors: throws when no answer came in time or it was not a 2xx; a redirect counts as neither,
 *         since it would carry the signed message to somewhere nobody configured.
 */
export function createAlertWebhook(options: AlertWebhookOptions): SendAlert {
  return async (message) => {
    const response = await options.fetch(options.url, {
      method: "POST",
      headers: { "content-type": "application/json", ...options.sign(options.secret, message) },
      body: message.body,
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    // Workers keep the connection until its body was read or given up.
    await response.body?.cancel();
    if (!response.ok) throw new Error(`the alert webhook answered ${response.status}`);
  };
}
