/** What browsers are told to forbid, and which requests come from our own pages. */

/** Nothing inline, nothing from elsewhere, no frame around it. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Headers of every page. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "Content-Security-Policy": POLICY,
  "X-Frame-Options": "DENY",
  // Not `no-referrer`: browsers would then send `Origin: null` with our own forms.
  "Referrer-Policy": "same-origin",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
};

/**
 * Tells whether a POST was sent by one of our own pages, or not by a browser.
 *
 * Shape: also guards the login, whose form has no session and so no token yet.
 */
export function isOwnPost(request: Request, publicUrl: string): boolean {
  const site = request.headers.get("Sec-Fetch-Site");
  if (site !== null) return site === "same-origin" || site === "none";
  const origin = request.headers.get("Origin");
  if (origin === null) return true;
  if (!URL.canParse(origin)) return false;
  const { host } = new URL(origin);
  return host === new URL(request.url).host || host === new URL(publicUrl).host;
}

/**
 * Tells whether the browser is at plain http, as its form says, and so will drop the cookie unsaid.
 *
 * Shape: at its own machine's http it keeps even a `Secure` one.
 */
export function isForgotten(request: Request): boolean {
  const origin = request.headers.get("Origin") ?? "";
  if (!origin.startsWith("http:") || !URL.canParse(origin)) return false;
  return !isLoopback(new URL(origin).hostname);
}

/** Plain http on one's own machine, where browsers refuse what `__Host-` demands. */
export function isLocal(request: Request, publicUrl: string): boolean {
  const { protocol, hostname } = new URL(request.url);
  // Behind a proxy on the same machine, the browser itself is at an https address.
  return protocol === "http:" && isLoopback(hostname) && !publicUrl.startsWith("https:");
}

const isLoopback = (hostname: string): boolean =>
  ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
