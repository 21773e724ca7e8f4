/** Every page, in light and dark and on a phone: readable for everybody. */

import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { accessibilityFaults, overflowPixels, PHONE, takeScreenshot } from "../support/browser.js";
import { fillShowcase, SHOWCASE_JOBS, type Showcase } from "../support/showcase.js";
import { type Site, startSite } from "../support/site.js";

let site: Site;
let showcase: Showcase;
beforeAll(async () => {
  site = await startSite({ jobs: SHOWCASE_JOBS });
  showcase = await fillShowcase(site.world);
});
afterEach(() => {
  expect(site.faults.splice(0)).toEqual([]);
});
afterAll(() => site.close());

const PAGES: [name: string, path: () => string][] = [
  ["overview", () => ""],
  ["jobs", () => "/jobs"],
  ["job", () => `/jobs/${showcase.jobId}`],
  ["waiting-job", () => `/jobs/${showcase.waitingJobId}`],
  ["dead-letters", () => "/dead-letters"],
  ["replay-preview", () => "/dead-letters/replay?type=send_email"],
  ["replay-progress", () => `/replays/${showcase.replayActionId}`],
  ["schedules", () => "/schedules"],
  ["types", () => "/types"],
  ["not-found", () => "/nothing-here"],
];

/** Wide and narrow; each is opened once, and then goes from page to page. */
let desktop: Page;
let phone: Page;
beforeAll(async () => {
  [desktop, phone] = await Promise.all([site.visit(""), site.visit("", PHONE)]);
});

describe.each(PAGES)("the page %s", (name, path) => {
  test("has no serious fault of accessibility, in light and dark", async () => {
    await desktop.emulateMedia({ colorScheme: "light" });
    await desktop.goto(`/dashboard${path()}`);
    await takeScreenshot(desktop, `${name}-light`);
    expect(await accessibilityFaults(desktop)).toEqual([]);
    await desktop.emulateMedia({ colorScheme: "dark" });
    await takeScreenshot(desktop, `${name}-dark`);
    expect(await accessibilityFaults(desktop, ["color-contrast"])).toEqual([]);
  });

  test("is no wider than a phone of 360 pixels", async () => {
    await phone.goto(`/dashboard${path()}`);
    await takeScreenshot(phone, `${name}-phone`);
    expect(await overflowPixels(phone)).toBe(0);
    const wide = await phone.evaluate(() =>
      [...document.querySelectorAll<HTMLDetailsElement>("main details:not([open])")]
        .filter((details) => {
          details.open = true;
          const { scrollWidth, clientWidth } = document.documentElement;
          details.open = false;
          return scrollWidth > clientWidth;
        })
        .map(({ textContent }) => textContent),
    );
    expect(wide).toEqual([]);
  });
});

test("the login has no serious fault of accessibility and fits a phone", async () => {
  const page = await site.open(PHONE);
  await page.goto("/dashboard");
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await takeScreenshot(page, `login-${colorScheme}`);
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(await overflowPixels(page)).toBe(0);
  }
});
