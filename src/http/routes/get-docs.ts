/** `GET /api/docs` and its style: the OpenAPI document for human eyes, without anybody's CDN. */

import { docsPage } from "../docs-page.js";
import { DOCS_CSS } from "../docs-style.js";
import { defineRoute } from "../route.js";

const CACHE = "public, max-age=300";
/** The page has no script, and its only style is its own file. */
const PAGE_POLICY =
  "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export const getDocs = [
  defineRoute(
    {
      method: "GET",
      path: "/api/docs",
      role: "none",
      summary: "Read this API's documentation",
    },
    async () =>
      new Response(await docsPage(), {
        headers: {
          "Content-Type": "text/html; charset=utf-8",
          "Cache-Control": CACHE,
          "Content-Security-Policy": PAGE_POLICY,
        },
      }),
  ),
  defineRoute(
    {
      method: "GET",
      path: "/api/docs.css",
      role: "none",
      summary: "Read the documentation's style sheet",
    },
    () =>
      new Response(DOCS_CSS, {
        headers: { "Content-Type": "text/css; charset=utf-8", "Cache-Control": CACHE },
      }),
  ),
];
