/** Secrets in requests, compared without telling how far they match. */

import type { ApiKey } from "../config.js";

/** Gives the token of `Authorization: Bearer <token>`, or undefined. */
export function bearerToken(headers: Headers): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headers.get("Authorization")?.trim() ?? "")?.[1];
}

/** Finds what a token belongs to. */
export type Keyring<Entry> = (token: string) => Promise<Entry | undefined>;

/**
 * Makes a look-up by secret that takes the same time whichever entry matches, or none.
 *
 * Shape: digests are compared, since they have one length; an empty ring knows no token.
 */
export function createKeyring<Entry extends Pick<ApiKey, "secret">>(
  entries: readonly Entry[],
): Keyring<Entry> {
  // The values are kept, not a promise: Workers may not wait for another request's promise.
  let digests: Uint8Array[] | undefined;
  return async (token) => {
    digests ??= await Promise.all(entries.map(({ secret }) => digestOf(secret)));
    const given = await digestOf(token);
    let found: Entry | undefined;
    for (const [at, digest] of digests.entries()) {
      if (isSame(digest, given)) found = entries[at];
    }
    return found;
  };
}

async function digestOf(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  let difference = 0;
  for (const [at, byte] of one.entries()) difference |= byte ^ (other[at] ?? 0);
  return difference === 0;
}
