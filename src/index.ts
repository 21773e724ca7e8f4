/** The Vercel entry, which Vercel finds by this file's name and by its import of "hono". */

import { Hono } from "hono";
import { compose } from "./compose.js";
import { readConfig } from "./config.js";
import { createGuardedFetch } from "./entry/guarded-fetch.js";
import { onFirstUse, webPlatform } from "./entry/platform.js";
import { vercelContext } from "./entry/vercel-context.js";
import { registry } from "./jobs/registry.gen.js";

const application = onFirstUse(() => {
  const config = readConfig(process.env, "vercel");
  const outboundFetch = createGuardedFetch({ allow: config.env.OUTBOUND_ALLOW });
  return compose(config, registry, { ...webPlatform, outboundFetch });
});

const app = new Hono();
app.all("*", ({ req }) => application.fetch(req.raw, vercelContext()));

export default app;
