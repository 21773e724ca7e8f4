/** The Node entry: a plain server, for containers and for one's own machine. */

import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { pathToFileURL } from "node:url";
import { serve } from "@hono/node-server";
import { type Antrean, compose, type Platform } from "../compose.js";
import { type Environment, readConfig } from "../config.js";
import { registry } from "../jobs/registry.gen.js";
import { createGuardedFetch } from "./guarded-fetch.js";
import { webPlatform } from "./platform.js";

/** Container platforms kill a process 30 seconds after they asked it to stop. */
const STOP_SECONDS_MAX = 25;

export interface NodeServer extends Pick<Antrean, "sweep"> {
  port: number;
  /** Accepts nothing more, and lets running requests end for as long as the bound allows. */
  stop(secondsMax?: number): Promise<void>;
}

/** Starts the application on PORT (3000) and HOST (all interfaces); a faulty setting throws. */
export async function startNode(
  env: Environment,
  overrides: Partial<Platform> = {},
): Promise<NodeServer> {
  const config = readConfig(env, "node");
  const { OUTBOUND_ALLOW: allow, PORT = "3000", HOST: hostname = "0.0.0.0" } = config.env;
  const outboundFetch = createGuardedFetch({ allow });
  const antrean = compose(config, registry, { ...webPlatform, outboundFetch, ...overrides });
  const fetch = (request: Request) => antrean.fetch(request);
  // The adapter's own Request and Response are not for everything else in this process.
  const globals = { overrideGlobalObjects: false };
  const server = serve({ fetch, port: Number(PORT), hostname, ...globals }) as Server;
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { port, sweep: antrean.sweep, stop: (secondsMax) => stop(server, secondsMax) };
}

async function stop(server: Server, secondsMax = STOP_SECONDS_MAX): Promise<void> {
  const closed = once(server, "close");
  const bound = setTimeout(() => server.closeAllConnections(), secondsMax * 1000);
  // Connections that become idle from here on would be kept open for seconds.
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  server.close();
  await closed;
  clearTimeout(bound);
  clearInterval(idle);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const server = await startNode(process.env);
  console.log(`Listening on port ${server.port}.`);
  const exit = () => void server.stop().then(() => process.exit());
  // Once each, so that a second signal ends the process at once.
  process.once("SIGTERM", exit).once("SIGINT", exit);
}
