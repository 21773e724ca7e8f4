/** The Vercel entry, which Vercel finds by this file's name and by its import of "hono". */

import { Hono } from "hono";
import { compose, type RequestPlatform } from "./compose.js";
import { readConfig } from "./config.js";
import { createGuardedFetch } from "./entry/guarded-fetch.js";
import { onFirstUse, webPlatform } from "./entry/platform.js";
import { registry } from "./jobs/registry.gen.js";

const application = onFirstUse(() => {
  const config = readConfig(process.env, "vercel");
  const outboundFetch = createGuardedFetch({ allow: config.env.OUTBOUND_ALLOW });
  return compose(config, registry, { ...webPlatform, outboundFetch });
});

/**
 * Where Vercel's functions find the context of the request at hand. `@vercel/functions` reads the
 * same place, and would bring two dozen packages for these lines.
 * Source: https://github.com/vercel/vercel/blob/main/packages/functions/src/get-context.ts
 */
const CONTEXT = Symbol.for("@vercel/request-context");
type WithContext = typeof globalThis & {
  [CONTEXT]?: { get?(): Pick<RequestPlatform, "waitUntil"> | undefined };
};

const app = new Hono();
app.all("*", ({ req }) => {
  const context = (globalThis as WithContext)[CONTEXT]?.get?.();
  return application.fetch(req.raw, { waitUntil: context?.waitUntil });
});

export default app;
