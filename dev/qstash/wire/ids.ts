import { randomBytes } from "node:crypto";

const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** Makes a new id such as "msg_…", 28 characters after the prefix. */
export function newId(prefix: "msg" | "scd" | "jwt" | "sig"): string {
  const characters = Array.from(randomBytes(28), (byte) => alphabet.charAt(byte % alphabet.length));
  return `${prefix}_${characters.join("")}`;
}
