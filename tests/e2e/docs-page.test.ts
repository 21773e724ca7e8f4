import { afterAll, beforeAll, expect, test } from "vitest";
import { accessibilityFaults, overflowPixels, PHONE } from "../support/browser.js";
import { type Site, startSite } from "../support/site.js";

let site: Site;
beforeAll(async () => {
  site = await startSite({ jobs: [] });
});
afterAll(() => site.close());

test.each(["light", "dark"] as const)(
  "the API's page can be read by everybody: %s",
  async (colorScheme) => {
    const page = await site.open({ colorScheme, viewport: PHONE });
    await page.goto("/api/docs");
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(await overflowPixels(page)).toBe(0);
    expect(site.faults).toEqual([]);
  },
);
