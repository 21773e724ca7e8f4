/** Answers of the dashboard: pages and redirects. */

import { SECURITY_HEADERS } from "./security.js";
import type { Html } from "./visit.js";

/** A whole page; nobody may keep it, since it is one person's. */
export function htmlResponse(
  page: Html,
  status: number,
  headers?: Record<string, string>,
): Response {
  return new Response(`<!doctype html>${page}`, {
    status,
    headers: {
      ...SECURITY_HEADERS,
      "Content-Type": "text/html; charset=utf-8",
      "Cache-Control": "no-store",
      ...headers,
    },
  });
}

/** Sends the browser on with a GET, so that a reload repeats nothing. */
export function redirectTo(path: string, headers?: Record<string, string>): Response {
  return new Response(null, {
    status: 303,
    headers: { ...SECURITY_HEADERS, Location: path, ...headers },
  });
}
