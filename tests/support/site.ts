/** A world that listens on this machine, with a browser before it. */

import type { Server } from "node:http";
import { createAdaptorServer } from "@hono/node-server";
import type { Page } from "playwright-core";
import { close, listen } from "../../dev/listen.js";
import { openPage, type PageOptions, startBrowser } from "./browser.js";
import { createWorld, KEYS, type World, type WorldOptions } from "./world.js";

type Session = Exclude<PageOptions["storageState"], string | undefined>;

export interface Site {
  world: World;
  origin: string;
  /** What pages did that none may do. */
  faults: string[];
  /** Opens an empty page of nobody, whose links are relative to the site. */
  open(options?: PageOptions): Promise<Page>;
  /** Opens this path of the dashboard for whoever has the secret; an admin if none is given. */
  visit(path: string, options?: PageOptions & { secret?: string }): Promise<Page>;
  /** Closes what the tests have opened. */
  closePages(): Promise<void>;
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
  const sessions = new Map<string, Session>();
  const open = (more: PageOptions = {}) => openPage(browser, faults, { baseURL: origin, ...more });
  const sessionOf = async (secret: string): Promise<Session> => {
    const page = await open();
    await page.goto("/dashboard");
    await signIn(page, secret);
    const state = await page.context().storageState();
    await page.context().close();
    return state;
  };
  return {
    world,
    origin,
    faults,
    open,
    async visit(path, { secret = KEYS.admin, ...more } = {}) {
      const storageState = sessions.get(secret) ?? (await sessionOf(secret));
      sessions.set(secret, storageState);
      const page = await open({ storageState, ...more });
      await page.goto(`/dashboard${path}`);
      return page;
    },
    closePages: async () => {
      await Promise.all(browser.contexts().map((context) => context.close()));
    },
    async close() {
      await browser.close();
      await close(server);
      await world.close();
    },
  };
}

/** Signs in at the form that the page shows, and waits for what follows. */
export async function signIn(page: Page, secret: string): Promise<void> {
  await page.getByLabel("API key").fill(secret);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
}
