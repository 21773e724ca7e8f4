/** A world that listens on this machine, with a browser before it. */

import type { Server } from "node:http";
import { createAdaptorServer } from "@hono/node-server";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { close, listen } from "../../dev/listen.js";
import { openSession, type SessionOptions, startBrowser } from "./browser.js";
import { createWorld, KEYS, type World, type WorldOptions } from "./world.js";

export interface Site {
  world: World;
  origin: string;
  /** What pages did that none may do. */
  faults: string[];
  /** Opens an empty page of nobody, whose links are relative to the site. */
  open(options?: SessionOptions): Promise<Page>;
  /** Opens this path of the dashboard for whoever has the secret; an admin if none is given. */
  visit(path: string, options?: SessionOptions & { secret?: string }): Promise<Page>;
  /** Closes what the tests have opened; whoever is signed in stays so. */
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
  return {
    world,
    origin,
    ...visitsOf(browser, origin),
    async close() {
      await browser.close();
      await close(server);
      await world.close();
    },
  };
}

function visitsOf(browser: Browser, origin: string): Omit<Site, "world" | "origin" | "close"> {
  const faults: string[] = [];
  const openAt = (options: SessionOptions) =>
    openSession(browser, faults, { baseURL: origin, ...options });
  // One for each caller and kind of screen: they are slower to open than pages.
  const sessions = new Map<string, Promise<BrowserContext>>();
  return {
    faults,
    open: async (options = {}) => (await openAt(options)).newPage(),
    async visit(path, { secret = KEYS.admin, ...options } = {}) {
      const name = JSON.stringify([secret, options]);
      const session = sessions.get(name) ?? openAt(options).then((each) => signedIn(each, secret));
      sessions.set(name, session);
      const page = await (await session).newPage();
      await page.goto(`/dashboard${path}`);
      return page;
    },
    async closePages() {
      const pages = browser.contexts().flatMap((context) => context.pages());
      await Promise.all(pages.map((page) => page.close()));
    },
  };
}

async function signedIn(session: BrowserContext, secret: string): Promise<BrowserContext> {
  const answer = await session.request.post("/dashboard/login", {
    form: { key: secret, next: "" },
  });
  if (!answer.ok()) throw new Error(`signing in is answered with ${answer.status()}`);
  return session;
}

/** Signs in at the form that the page shows, and waits for what follows. */
export async function signIn(page: Page, secret: string): Promise<void> {
  await page.getByLabel("API key").fill(secret);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
}
