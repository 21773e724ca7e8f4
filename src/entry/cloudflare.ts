/** The Cloudflare entry: requests, and sweeps by cron triggers. */

import { compose } from "../compose.js";
import { type Environment, readConfig } from "../config.js";
import { registry } from "../jobs/registry.gen.js";
import { onFirstUse, type Served, webPlatform } from "./platform.js";

/** Only what is used: the runtime's own types would replace those of the web standards. */
interface ExecutionContext {
  waitUntil(work: Promise<unknown>): void;
}

/** By environment, as the runtime hands it in with every event and promises no single object. */
const applications = new WeakMap<object, Served>();

export default {
  fetch(request: Request, env: object, context: ExecutionContext): Promise<Response> {
    return applicationFor(env).fetch(request, {
      waitUntil: (work) => context.waitUntil(work),
    });
  },

  async scheduled(_event: unknown, env: object): Promise<void> {
    await applicationFor(env).sweep({ requestId: crypto.randomUUID() });
  },
};

function applicationFor(env: object): Served {
  const present = applications.get(env);
  if (present) return present;
  const application = onFirstUse(() =>
    compose(readConfig(textsOf(env), "cloudflare"), registry, {
      ...webPlatform,
      // A Worker has no private network to guard. Wrapped, because workerd refuses a `fetch` that
      // is called as the method of another object.
      outboundFetch: (input, init) => fetch(input, init),
    }),
  );
  applications.set(env, application);
  return application;
}

/** Bindings to other resources are objects, and no configuration. */
function textsOf(env: object): Environment {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => typeof value === "string"));
}
