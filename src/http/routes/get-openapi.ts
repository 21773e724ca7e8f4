/** `GET /api/openapi.json`: the description of this API, made from the schemas that validate. */

import { OPENAPI_JSON } from "../openapi.gen.js";
import { defineRoute } from "../route.js";

/** It changes with deployments only. */
const CACHE = "public, max-age=300";

export const getOpenapi = defineRoute(
  {
    method: "GET",
    path: "/api/openapi.json",
    role: "none",
    summary: "Read the OpenAPI document",
  },
  () =>
    new Response(OPENAPI_JSON, {
      headers: { "Content-Type": "application/json", "Cache-Control": CACHE },
    }),
);
