/** A real Chromium, and what is asked of every page that it shows. */

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import type { AxeResults } from "axe-core";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { findChromium } from "../../dev/chromium.js";

const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // One site by one visitor: processes that keep sites apart cost a sixth of these tests.
  "--in-process-gpu",
  "--renderer-process-limit=1",
  "--disable-site-isolation-trials",
];
const IMAGES = path.resolve(import.meta.dirname, "../../docs/images");
/** Only a bound: what a page does not show by then it never will. */
const TIMEOUT_MS = 20_000;

const DESKTOP = { width: 1280, height: 800 } as const;
/** The narrowest phone that is still about. */
export const PHONE = {
  viewport: { width: 360, height: 720 },
  isMobile: true,
  hasTouch: true,
} as const;

export type SessionOptions = NonNullable<Parameters<Browser["newContext"]>[0]>;

/** Starts the installed Chromium, with a fresh profile that ends with it. */
export async function startBrowser(): Promise<Browser> {
  const executablePath = findChromium();
  if (!executablePath) throw new Error("Chromium is missing: install chromium-headless-shell");
  return chromium.launch({ executablePath, headless: true, args: ARGUMENTS });
}

/**
 * Opens a session of its own.
 *
 * @param faults takes what no page may cause: script errors, and what the CSP had to stop
 */
export async function openSession(
  browser: Browser,
  faults: string[],
  options: SessionOptions,
): Promise<BrowserContext> {
  // A transition would be judged by the colours that it is just passing.
  const calm = { reducedMotion: "reduce" } as const;
  const context = await browser.newContext({ viewport: DESKTOP, ...calm, ...options });
  context.setDefaultTimeout(TIMEOUT_MS);
  context.on("weberror", (each) => void faults.push(each.error().message));
  context.on("console", (message) => {
    if (/Content Security Policy|Refused to/.test(message.text())) faults.push(message.text());
  });
  return context;
}

/** Rows of one table are alike: to look at the first ones is to look at all. */
const ALIKE = ["tbody tr:nth-child(n + 9)", ".timeline li:nth-child(n + 9)"];

/**
 * Lists what axe-core finds serious or critical on the page: the rule, and where.
 *
 * @param rules only these; all that axe-core knows if absent
 */
export async function accessibilityFaults(page: Page, rules?: string[]): Promise<string[]> {
  // Not a script element: the CSP, which stays as it is, would refuse it.
  if (!(await page.evaluate(`"axe" in window`))) await page.evaluate(await axeSource());
  const options = { preload: false, resultTypes: ["violations"], ...(rules && { runOnly: rules }) };
  const { violations } = (await page.evaluate(
    `axe.run({ exclude: ${JSON.stringify(ALIKE)} }, ${JSON.stringify(options)})`,
  )) as AxeResults;
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${target} ${failureSummary}`),
    );
}

/** Tells how many pixels the page is wider than the screen. */
export async function overflowPixels(page: Page): Promise<number> {
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  return Math.max(0, width - (page.viewportSize()?.width ?? 0));
}

/** Writes `docs/images/<name>.png` where SCREENSHOTS=1 asks for it. */
export async function takeScreenshot(page: Page, name: string): Promise<void> {
  if (process.env.SCREENSHOTS !== "1") return;
  await page.screenshot({ path: path.join(IMAGES, `${name}.png`), animations: "disabled" });
}

let axe: Promise<string> | undefined;

function axeSource(): Promise<string> {
  axe ??= readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  return axe;
}
