/** Verifies that a request comes from QStash, with its receiver. */

import { Receiver } from "@upstash/qstash";

export interface VerifyOptions {
  currentSigningKey: string;
  nextSigningKey: string;
  /** Public base URLs under which messages may have been published. */
  publicUrls: string[];
}

/** Tells whether a raw body was signed by QStash for one of our own URLs. */
export type Verify = (request: {
  rawBody: string;
  signature: string;
  /** Path of the route, as published. */
  path: string;
}) => Promise<boolean>;

/** QStash's clock and ours may differ by this much. */
const CLOCK_TOLERANCE_SECONDS = 10;

/**
 * Makes the check: raw body, configured public URL, and both signing keys (I8).
 *
 * Source: https://upstash.com/docs/qstash/howto/signature
 */
export function createVerify(options: VerifyOptions): Verify {
  // devMode: with QSTASH_DEV set, the receiver would accept a key that is printed in its package.
  const receiver = new Receiver({
    currentSigningKey: options.currentSigningKey,
    nextSigningKey: options.nextSigningKey,
    devMode: false,
  });
  return async ({ rawBody, signature, path }) => {
    for (const publicUrl of options.publicUrls) {
      try {
        const verified = await receiver.verify({
          body: rawBody,
          signature,
          url: `${publicUrl}${path}`,
          clockTolerance: CLOCK_TOLERANCE_SECONDS,
        });
        if (verified) return true;
      } catch {
        // Not for this URL, or not QStash's at all: `false` after the last URL says so.
      }
    }
    return false;
  };
}
