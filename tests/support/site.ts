/** A world that listens on this machine, with a browser before it. */

import type { Server } from "node:http";
import { createAdaptorServer } from "@hono/node-server";
import type { Page } from "playwright-core";
import { close, listen } from "../../dev/listen.js";
import { openPage, type PageOptions, startBrowser } from "./browser.js";
import { createWorld, type World, type WorldOptions } from "./world.js";

export interface Site {
  world: World;
  origin: string;
  /** What pages did that none may do, since it was last looked at. */
  faults: string[];
  /** Opens an empty page in a session of its own, whose links are relative to the site. */
  open(options?: PageOptions): Promise<Page>;
  close(): Promise<void>;
}

/** Starts the site; whoever starts it ends it with `close`. */
export async function startSite(options: WorldOptions): Promise<Site> {
  // The application has to know its address, so its server listens before there is one.
  const server = createAdaptorServer({
    fetch: (request: Request) => world.instance.fetch(request),
    overrideGlobalObjects: false,
  }) as Server;
  const port = await listen(server, { port: 0, service: "the application" });
  const origin = `http://127.0.0.1:${port}`;
  const [world, browser] = await Promise.all([
    createWorld({ ...options, env: { PUBLIC_URL: origin, ...options.env } }),
    startBrowser(),
  ]);
  const faults: string[] = [];
  return {
    world,
    origin,
    faults,
    open: (more = {}) => openPage(browser, faults, { baseURL: origin, ...more }),
    async close() {
      await browser.close();
      await close(server);
      await world.close();
    },
  };
}
