/** API keys, their roles, and finding a key by its secret without telling how far a guess matches. */

import type { Actor } from "./operations.js";

export const ROLES = ["read", "write", "admin"] as const;
export type Role = (typeof ROLES)[number];

/** One API key; several may share a name, for rotation. */
export interface ApiKey {
  name: string;
  role: Role;
  secret: string;
}

/** Tells whether a role includes another: admin ⊃ write ⊃ read. */
export function includesRole(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

/** Gives whom a key acts for: its name is its tenant, an admin's is every tenant. */
export function actorOf({ name, role }: Pick<ApiKey, "name" | "role">): Actor {
  return { tenant: role === "admin" ? null : name, keyName: name };
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
