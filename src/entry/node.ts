/** The Node entry: a plain server, for containers and for one's own machine. */

import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { pathToFileURL } from "node:url";
import { createAdaptorServer } from "@hono/node-server";
import { type Antrean, compose, type Platform } from "../compose.js";
import { type Environment, readConfig } from "../config.js";
import { registry } from "../jobs/registry.gen.js";
import { createGuardedFetch } from "./guarded-fetch.js";
import { webPlatform } from "./platform.js";

/** Container platforms kill a process 30 seconds after they asked it to stop. */
const STOP_SECONDS_MAX = 25;

/** A running server. */
export interface NodeServer extends Pick<Antrean, "sweep"> {
  port: number;
  /** Accepts nothing more, and lets running requests end for as long as the bound allows. */
  stop(secondsMax?: number): Promise<void>;
}

/**
 * Starts the application on PORT (3000) and HOST (every interface) of the environment.
 *
 * Errors: `ConfigError`, or that of the server when it cannot listen.
 */
export async function startNode(
  env: Environment,
  overrides: Partial<Platform> = {},
): Promise<NodeServer> {
  const config = readConfig(env, "node");
  const outboundFetch = createGuardedFetch({ allow: config.env.OUTBOUND_ALLOW });
  const antrean = compose(config, registry, { ...webPlatform, outboundFetch, ...overrides });
  const server = createAdaptorServer({
    fetch: (request) => antrean.fetch(request),
    // The adapter would replace Request and Response for everything else in this process.
    overrideGlobalObjects: false,
  }) as Server;
  server.listen(Number(config.env.PORT ?? 3000), config.env.HOST ?? "0.0.0.0");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { port, sweep: antrean.sweep, stop: (secondsMax) => stop(server, secondsMax) };
}

async function stop(server: Server, secondsMax = STOP_SECONDS_MAX): Promise<void> {
  const closed = once(server, "close");
  const bound = setTimeout(() => server.closeAllConnections(), secondsMax * 1000);
  server.close();
  await closed;
  clearTimeout(bound);
}

async function main(): Promise<void> {
  const server = await startNode(process.env);
  console.log(`Listening on port ${server.port}.`);
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    // Once, so that a second signal ends the process at once.
    process.once(signal, () => void server.stop().then(() => process.exit()));
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  main().catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  });
}
