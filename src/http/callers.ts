/** Who may call a route: holders of API keys, QStash, and the platform's cron. */

import { actorOf, createKeyring, includesRole, type Role } from "../core/access.js";
import type { Actor } from "../core/operations.js";
import { Problem } from "./problem.js";
import type { AppOptions } from "./route.js";

/** A call that is to be vouched for by its signature. */
export interface SignedCall {
  headers: Headers;
  /** Undefined when the bytes are not UTF-8, which nobody signs. */
  rawBody: string | undefined;
  path: string;
}

export interface Callers {
  /** Gives the holder of a key of at least this role. */
  admit(headers: Headers, role: Role): Promise<Actor>;
  /** Tells whether QStash signed the call for this path. */
  isSigned(call: SignedCall): Promise<boolean>;
  /** Tells whether the call carries the cron secret; never when none is set. */
  isCron(headers: Headers): Promise<boolean>;
}

/** Makes the checks of one application. */
export function createCallers({ config, verify }: AppOptions): Callers {
  const keys = createKeyring(config.apiKeys);
  const cronSecrets = createKeyring(config.cronSecret ? [{ secret: config.cronSecret }] : []);
  return {
    async admit(headers, role) {
      const token = bearerToken(headers);
      const key = token === undefined ? undefined : await keys(token);
      if (!key) throw unauthorized("Send Authorization: Bearer with one of the API keys.");
      if (!includesRole(key.role, role)) {
        throw new Problem("forbidden", `This takes a key with the role ${role}.`);
      }
      return actorOf(key);
    },
    async isSigned({ headers, rawBody, path }) {
      const signature = headers.get("Upstash-Signature");
      if (!signature || rawBody === undefined) return false;
      return verify({ rawBody, signature, path });
    },
    async isCron(headers) {
      const token = bearerToken(headers);
      return token !== undefined && (await cronSecrets(token)) !== undefined;
    },
  };
}

/** Makes the answer to a caller that nothing vouches for. */
export function unauthorized(detail: string): Problem {
  return new Problem("unauthorized", detail, { headers: { "WWW-Authenticate": "Bearer" } });
}

/** Gives the token of `Authorization: Bearer <token>`, or undefined. */
export function bearerToken(headers: Headers): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headers.get("Authorization")?.trim() ?? "")?.[1];
}
