/** Signing in with an API key, and out again. */

import { createKeyring } from "../core/access.js";
import type { DashboardOptions, Exchange } from "./exchange.js";
import { addressOf, createLoginLimit } from "./login-limit.js";
import { Login as LoginPage } from "./pages/login.js";
import { htmlResponse, redirectTo } from "./respond.js";
import { isForgotten, isLocal, isOwnPost } from "./security.js";
import { createSessions, readCookie, type Session, writeCookie } from "./session.js";

export interface Login {
  sessionOf(exchange: Exchange): Promise<Session | undefined>;
  /** Answers a request without a session with the way in, at its own address. */
  page(exchange: Exchange): Response;
  signIn(exchange: Exchange): Promise<Response>;
  signOut(request: Request): Response;
}

/** Makes the login of one instance. */
export function createLogin({ apiKeys, publicUrl }: DashboardOptions, base: string): Login {
  const keys = createKeyring(apiKeys);
  const sessions = createSessions(apiKeys);
  const limit = createLoginLimit();
  const refused = (status: number, fault: string, next: string, headers?: Record<string, string>) =>
    htmlResponse(<LoginPage base={base} next={next} fault={fault} />, status, headers);
  return {
    sessionOf: ({ request, nowMs }) =>
      sessions.read(readCookie(request.headers, isLocal(request, publicUrl)), nowMs),
    page({ request, path }) {
      const next =
        request.method === "GET" ? base + encodeURI(path) + new URL(request.url).search : base;
      return htmlResponse(<LoginPage base={base} next={next} />, 401);
    },
    async signIn({ request, body, nowMs }) {
      const fields = new URLSearchParams(body);
      const next = ownPath(fields.get("next") ?? "", base);
      if (!isOwnPost(request, publicUrl))
        return refused(403, "Sign in from this page itself.", next);
      if (isForgotten(request))
        return refused(
          400,
          "Open this page over https: over http no browser keeps a session.",
          next,
        );
      const address = addressOf(request.headers);
      const waitSeconds = limit.waitSeconds(address, nowMs);
      if (waitSeconds > 0) {
        const fault = `Too many attempts. Try again in ${waitSeconds} s.`;
        return refused(429, fault, next, { "Retry-After": String(waitSeconds) });
      }
      const attempt = limit.begin(address, nowMs);
      const key = await keys(fields.get("key")?.trim() ?? "");
      if (!key) return refused(401, "No API key of this deployment has this secret.", next);
      attempt.succeeded();
      const value = await sessions.start(key, nowMs);
      return redirectTo(next, { "Set-Cookie": writeCookie(value, isLocal(request, publicUrl)) });
    },
    signOut: (request) =>
      redirectTo(base, { "Set-Cookie": writeCookie("", isLocal(request, publicUrl)) }),
  };
}

/** Only our own pages are a place to go on at; everything else becomes the first page. */
function ownPath(path: string, base: string): string {
  if (!/^[\x21-\x7e]+$/.test(path) || /\\|\/\//.test(path)) return base;
  // Where a browser would go: dots may lead out of the base.
  const { pathname } = new URL(path, "http://own.invalid");
  const isOwn = pathname === base || pathname.startsWith(`${base}/`);
  return isOwn && path.startsWith(base) ? path : base;
}
