/**
 * Sessions without a table: a signed cookie, which ends with its time or with its API key.
 *
 * Each API secret signs its own sessions, so that taking one out of the configuration ends exactly
 * those, and a session always has the role that its key has now.
 */

import type { ApiKey } from "../core/access.js";

export const SESSION_SECONDS = 12 * 3600;

const COOKIE = "antrean";
const VALUE = /^(\d{1,12}\.[0-9a-f]{32})\.([0-9a-f]{64})$/;

export interface Session {
  key: ApiKey;
  /** What forms of this session carry. */
  csrfToken: string;
  isCsrfToken(given: string): Promise<boolean>;
}

export interface Sessions {
  /** Gives the cookie's value for a new session of this key. */
  start(key: ApiKey, nowMs: number): Promise<string>;
  read(value: string | undefined, nowMs: number): Promise<Session | undefined>;
}

/** Makes the sessions of a deployment's keys. */
export function createSessions(apiKeys: readonly ApiKey[]): Sessions {
  // The values are kept, not promises: Workers may not wait for another request's promise.
  let signers: { key: ApiKey; signer: CryptoKey }[] | undefined;
  const ready = async () => {
    signers ??= await Promise.all(
      apiKeys.map(async (key) => ({ key, signer: await signerOf(key.secret) })),
    );
    return signers;
  };
  return {
    async start(key, nowMs) {
      const signer = (await ready()).find((each) => each.key === key)?.signer;
      if (!signer) throw new Error("a session belongs to a key of this deployment");
      const nonce = hex(crypto.getRandomValues(new Uint8Array(16)));
      const text = `${Math.floor(nowMs / 1000) + SESSION_SECONDS}.${nonce}`;
      return `${text}.${await sign(signer, `session ${text}`)}`;
    },
    async read(value, nowMs) {
      const [, text = "", signature = ""] = VALUE.exec(value ?? "") ?? [];
      let found: { key: ApiKey; signer: CryptoKey } | undefined;
      for (const each of await ready()) {
        if (await isSigned(each.signer, `session ${text}`, signature)) found = each;
      }
      if (!found || Number.parseInt(text, 10) * 1000 <= nowMs) return undefined;
      const { key, signer } = found;
      const csrfText = `csrf ${text}`;
      return {
        key,
        csrfToken: await sign(signer, csrfText),
        isCsrfToken: (given) => isSigned(signer, csrfText, given),
      };
    },
  };
}

/** The names that a session's cookie can have: the bare one only where `__Host-` cannot be. */
export function cookieName(isLocal: boolean): string {
  return isLocal ? COOKIE : `__Host-${COOKIE}`;
}

/** Writes the cookie; an empty value ends it. */
export function setCookie(value: string, isLocal: boolean): string {
  const seconds = value === "" ? 0 : SESSION_SECONDS;
  const rules = `Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax`;
  return `${cookieName(isLocal)}=${value}; ${rules}${isLocal ? "" : "; Secure"}`;
}

/** Finds the cookie among those of a request. */
export function readCookie(headers: Headers, isLocal: boolean): string | undefined {
  const prefix = `${cookieName(isLocal)}=`;
  const cookies = (headers.get("Cookie") ?? "").split(";").map((each) => each.trim());
  return cookies.find((each) => each.startsWith(prefix))?.slice(prefix.length);
}

/** A key of its own, so that what it signs tells nothing that would be good for the API. */
async function signerOf(secret: string): Promise<CryptoKey> {
  const material = await crypto.subtle.importKey("raw", bytesOf(secret), "HKDF", false, [
    "deriveKey",
  ]);
  const derivation = {
    name: "HKDF",
    hash: "SHA-256",
    salt: new Uint8Array(),
    info: bytesOf("antrean dashboard session"),
  };
  const kind = { name: "HMAC", hash: "SHA-256", length: 256 };
  return crypto.subtle.deriveKey(derivation, material, kind, false, ["sign", "verify"]);
}

async function sign(signer: CryptoKey, text: string): Promise<string> {
  return hex(new Uint8Array(await crypto.subtle.sign("HMAC", signer, bytesOf(text))));
}

/** Compares in constant time, as `verify` promises. */
function isSigned(signer: CryptoKey, text: string, signature: string): Promise<boolean> {
  const bytes = Uint8Array.from(signature.match(/[0-9a-f]{2}/g) ?? [], (pair) =>
    Number.parseInt(pair, 16),
  );
  return crypto.subtle.verify("HMAC", signer, bytes, bytesOf(text));
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
