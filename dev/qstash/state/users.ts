import { newId } from "../wire/ids.js";

/** A user's signing keys; `previous` is what `current` was before the last rotation. */
export interface KeyRing {
  current: string;
  next: string;
  previous?: string;
}

/** The public, documented accounts of QStash's local mode; none of this is a secret. */
export const localUsers = [
  {
    token: tokenOf("defaultUser", "defaultPassword"),
    keys: {
      current: "sig_7kYjw48mhY7kAjqNGcy6cr29RJ6r",
      next: "sig_5ZB6DVzB1wjE8S6rZ7eenA8Pdnhs",
    },
  },
  {
    token: tokenOf("testUser1", "testPassword"),
    keys: {
      current: "sig_7GVPjvuwsfqF65iC8fSrs1dfYruM",
      next: "sig_5NoELc3EFnZn4DVS5bDs2Nk4b7Ua",
    },
  },
  {
    token: tokenOf("testUser2", "testPassword"),
    keys: {
      current: "sig_6jWGaWRxHsw4vMSPJprXadyvrybF",
      next: "sig_7qHbvhmahe5GwfePDiS5Lg3pi6Qx",
    },
  },
  {
    token: tokenOf("testUser3", "testPassword"),
    keys: {
      current: "sig_5T8FcSsynBjn9mMLBsXhpacRovJf",
      next: "sig_7GFR4YaDshFcqsxWRZpRB161jguD",
    },
  },
] as const satisfies readonly { token: string; keys: Readonly<KeyRing> }[];

/** Makes `next` the current key and a new key the next one. */
export function rotate(keys: KeyRing): void {
  keys.previous = keys.current;
  keys.current = keys.next;
  keys.next = newId("sig");
}

function tokenOf(UserID: string, Password: string): string {
  return Buffer.from(JSON.stringify({ UserID, Password })).toString("base64");
}
