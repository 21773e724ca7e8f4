/**
 * Decides which URLs this deployment may be made to call.
 *
 * Everything is judged on what the URL parser understood, never on the text: `0x7f.1`,
 * `2130706433`, fullwidth digits and percent-encoding are all 127.0.0.1 by then.
 */

import { hostOf, isAllowedPlace, OPEN_PORTS, portOf } from "./allow-list.js";
import { hostNameRefusal } from "./host-name.js";
import { addressRefusal } from "./ip-address.js";

/**
 * Gives why a URL must not be called, or null when it may be.
 *
 * Errors: none; the reason names host, port or scheme, never credentials, path or query.
 */
export function urlRefusal(text: string, allow: string | undefined): string | null {
  // The parser would silently drop tabs and line breaks: what was read differs from what was meant.
  if (/[\s\p{Cc}]/u.test(text)) return "the URL contains white space or control characters";
  if (!URL.canParse(text)) return "the URL cannot be read";
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return `the scheme ${url.protocol.slice(0, -1)} is not allowed, only http and https are`;
  }
  if (url.username !== "" || url.password !== "") {
    return "credentials do not belong into a URL; use an Authorization header";
  }
  if (isAllowedPlace(url, allow)) return null;
  const port = portOf(url);
  if (!OPEN_PORTS.includes(port)) {
    return `port ${port} is not allowed, only ${OPEN_PORTS.join(", ")} and what OUTBOUND_ALLOW names are`;
  }
  return hostRefusal(hostOf(url));
}

function hostRefusal(host: string): string | null {
  if (host.startsWith("[")) return addressRefusal(host.slice(1, -1));
  // The URL parser has turned every spelling of an IPv4 address into four decimal parts.
  return /^[\d.]+$/.test(host) ? addressRefusal(host) : hostNameRefusal(host);
}
