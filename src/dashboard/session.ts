/**
 * Sessions without a table: a signed cookie, which ends with its time or with its API key.
 *
 * Each API secret signs its own sessions, so that taking one out of the configuration ends exactly
 * those, and a session always has the role that its key has now.
 */

import type { ApiKey } from "../core/access.js";

export const SESSION_SECONDS = 12 * 3600;

const COOKIE = "antrean";
const VALUE = /^((\d{1,12})\.[0-9a-f-]{36})\.([0-9a-f]{64})$/;

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
  return {
    async start({ secret }, nowMs) {
      const text = `${Math.floor(nowMs / 1000) + SESSION_SECONDS}.${crypto.randomUUID()}`;
      return `${text}.${await sign(await signerOf(secret), text)}`;
    },
    async read(value = "", nowMs) {
      const [, text = "", endsAtSeconds, signature = ""] = VALUE.exec(value) ?? [];
      if (!(Number(endsAtSeconds) * 1000 > nowMs)) return undefined;
      let session: Session | undefined;
      for (const key of apiKeys) {
        const signer = await signerOf(key.secret);
        if (!(await isSigned(signer, text, signature))) continue;
        const csrfText = `csrf ${text}`;
        session = {
          key,
          csrfToken: await sign(signer, csrfText),
          isCsrfToken: (given) => isSigned(signer, csrfText, given),
        };
      }
      return session;
    },
  };
}

/** Writes the cookie; an empty value ends it. */
export function writeCookie(value: string, isLocal: boolean): string {
  const rules = `Path=/; Max-Age=${value ? SESSION_SECONDS : 0}; HttpOnly; SameSite=Lax`;
  return `${nameOf(isLocal)}=${value}; ${rules}${isLocal ? "" : "; Secure"}`;
}

/** Finds the cookie among those of a request. */
export function readCookie(headers: Headers, isLocal: boolean): string | undefined {
  const prefix = `${nameOf(isLocal)}=`;
  const cookies = (headers.get("Cookie") ?? "").split(/; */);
  return cookies.find((each) => each.startsWith(prefix))?.slice(prefix.length);
}

/** The bare name only where browsers refuse what `__Host-` demands. */
function nameOf(isLocal: boolean): string {
  return isLocal ? COOKIE : `__Host-${COOKIE}`;
}

/** A key derived for this use, so that what it signs is good for nothing else. */
async function signerOf(secret: string): Promise<CryptoKey> {
  const bytes = bytesOf(`antrean dashboard session\n${secret}`);
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  const kind = { name: "HMAC", hash: "SHA-256" };
  return crypto.subtle.importKey("raw", digest, kind, false, ["sign", "verify"]);
}

async function sign(signer: CryptoKey, text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.sign("HMAC", signer, bytesOf(text)));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Compares in constant time, as `verify` promises. */
function isSigned(signer: CryptoKey, text: string, signature: string): Promise<boolean> {
  const pairs = signature.match(/[0-9a-f]{2}/g) ?? [];
  const bytes = Uint8Array.from(pairs, (pair) => Number.parseInt(pair, 16));
  return crypto.subtle.verify("HMAC", signer, bytes, bytesOf(text));
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}
