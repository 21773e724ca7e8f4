/** Looking at jobs through a real browser: who may, what they see, and that they see it at once. */

import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { FatalError } from "../../src/core/define-job.js";
import { createSessions, SESSION_SECONDS } from "../../src/dashboard/session.js";
import { overflowPixels, PHONE } from "../support/browser.js";
import { byAttempt, scripted, succeed, throws } from "../support/flow-jobs.js";
import { type Site, signIn, startSite } from "../support/site.js";
import { KEYS } from "../support/world.js";

const HOSTILE = [
  "<img src=x onerror=window.__x=1>",
  `"'><script>window.__x = 1</script><svg/onload=window.__x=1>`,
  "javascript:window.__x=1 &lt;b&gt; {{1+1}}",
  "\u202Eright to left\u2066 and a zero\u200Bwidth \u0007 bell",
  "w".repeat(600),
].join(" ");

const mails = scripted(succeed({ sent: true }), {}, "test.mails");
const moody = scripted(
  byAttempt(
    throws(new Error("The printer is on fire.")),
    throws(new FatalError("There is no printer.", { code: "no_printer" })),
    succeed("printed"),
  ),
  {},
  "test.moody",
);
const hostile = scripted(
  async ({ progress }) => {
    await progress({ [HOSTILE]: HOSTILE });
    throw new FatalError(HOSTILE);
  },
  {},
  "test.hostile",
);

let site: Site;
beforeAll(async () => {
  site = await startSite({ jobs: [mails, moody, hostile] });
});
afterEach(async () => {
  await site.closePages();
  expect(site.faults.splice(0)).toEqual([]);
});
afterAll(() => site.close());

const titleOf = (page: Page) => page.getByRole("heading", { level: 1 }).textContent();

describe("the dashboard lets in", () => {
  test("whoever has a key, where they wanted to go, until they sign out", async () => {
    const page = await site.open();
    await page.goto("/dashboard/types");
    await page.getByLabel("API key").fill("not-one-of-the-keys");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    expect(await page.context().cookies()).toEqual([]);
    await signIn(page, KEYS.admin);
    expect(await titleOf(page)).toBe("Types");
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Lax", path: "/" });
    expect(await page.evaluate(() => document.cookie)).toBe("");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("API key").waitFor();
    await page.goto("/dashboard/jobs");
    await page.getByLabel("API key").waitFor();
  });

  test("nobody any more when the session's time is over", async () => {
    const key = { name: "ops", role: "admin" as const, secret: KEYS.admin };
    const sessions = createSessions([key]);
    const seen: string[] = [];
    for (const ageSeconds of [SESSION_SECONDS - 60, SESSION_SECONDS + 1]) {
      const value = await sessions.start(key, Date.now() - ageSeconds * 1000);
      const page = await site.open();
      await page.context().addCookies([{ name: "antrean", value, url: site.origin }]);
      await page.goto("/dashboard");
      seen.push(await page.title());
    }
    expect(seen).toEqual([expect.stringContaining("Overview"), expect.stringContaining("Sign in")]);
  });
});

describe("the list of jobs", () => {
  test("shows the newest first, and what a filter asks for", async () => {
    const { world } = site;
    const ids: string[] = [];
    for (const type of ["test.mails", "test.moody"]) ids.push(await world.create(type, {}));
    await world.qstash.deliverDue();
    const page = await site.visit("/jobs");
    const rows = page.locator("tbody tr");
    expect(await rows.allTextContents()).toEqual([
      expect.stringMatching(/test\.moody.*Retrying|Retrying.*test\.moody/),
      expect.stringMatching(/test\.mails.*Completed|Completed.*test\.mails/),
    ]);
    await page.getByLabel("Completed").check();
    await page.getByRole("button", { name: "Filter" }).click();
    await page.waitForURL(/status=completed/);
    expect(await rows.count()).toBe(1);
    expect(await rows.first().getAttribute("id")).toBe(`j${ids[0]}`);
    await page.getByRole("link", { name: "Clear" }).click();
    await page.getByLabel("Type").selectOption("test.moody");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.waitForURL(/type=test.moody/);
    expect(await rows.count()).toBe(1);
    await page.getByText("By id, key or time").click();
    await page.getByLabel("Job id or dedupe key").fill(ids[0] ?? "");
    await page.getByRole("button", { name: "Filter" }).click();
    await page.waitForURL(new RegExp(`/jobs/${ids[0]}`));
    await world.runUntilIdle();
  });
});

describe("a job's page", () => {
  test("tells its story, and goes on telling it without a reload", async () => {
    const { world } = site;
    const jobId = await world.create("test.moody", { copies: 2 });
    await world.runUntilIdle();
    const page = await site.open();
    await page.clock.install();
    await page.goto(`/dashboard/jobs/${jobId}`);
    await signIn(page, KEYS.acme);
    await page.evaluate(() => {
      (window as { __sameDocument?: boolean }).__sameDocument = true;
    });
    // Which message was sent last is known, of those before only what they caused.
    const story = async () =>
      (await page.locator(".timeline li > div").allInnerTexts()).filter(
        (told) => !told.startsWith("Message sent"),
      );
    const before = await story();
    for (const told of [
      /^Created by acme/,
      /The printer is on fire\./,
      /no_printer There is no printer\./,
    ]) {
      expect(before).toContainEqual(expect.stringMatching(told));
    }
    const answer = await world.request("POST", `/api/jobs/${jobId}/replay`, {
      body: { reason: "bought one" },
    });
    expect(answer.status).toBe(202);
    await world.runUntilIdle();
    await page.clock.fastForward(3_100);
    await page
      .getByText(/^Completed$/)
      .first()
      .waitFor();
    const after = await story();
    expect(after.slice(0, before.length)).toEqual(before);
    expect(after.join("\n")).toMatch(/Replayed by acme\s+bought one/);
    expect(after.at(-1)).toMatch(/^Attempt 3 ended after .*: completed/);
    expect(await page.evaluate(() => (window as { __sameDocument?: boolean }).__sameDocument)).toBe(
      true,
    );
  });
});

test("what jobs bring along is text and nothing else, on every page and as narrow as a phone (S01)", async () => {
  const { world } = site;
  const jobId = await world.create(
    "test.hostile",
    { [HOSTILE]: [HOSTILE] },
    { dedupeKey: HOSTILE.slice(0, 200) },
  );
  await world.runUntilIdle();
  await world.request("POST", `/api/jobs/${jobId}/replay`, {
    body: { reason: HOSTILE.slice(0, 400) },
  });
  await world.runUntilIdle();
  const replay = new URLSearchParams({ type: "test.hostile", code: HOSTILE });
  const page = await site.visit("", PHONE);
  for (const path of [
    "",
    "/jobs",
    `/jobs?${new URLSearchParams({ key: HOSTILE, type: HOSTILE, after: HOSTILE })}`,
    `/jobs/${jobId}`,
    "/dead-letters",
    `/dead-letters?${new URLSearchParams({ type: HOSTILE })}`,
    `/dead-letters/replay?${replay}`,
    "/types",
  ]) {
    await page.goto(`/dashboard${path}`);
    expect(await page.evaluate(() => (window as { __x?: number }).__x), path).toBeUndefined();
    expect(await page.locator("main :is(img, script, svg[onload], b b)").count(), path).toBe(0);
    expect(await overflowPixels(page), path).toBe(0);
    if (path === `/jobs/${jobId}` || path === "/dead-letters") {
      expect(await page.locator("main").textContent()).toContain(
        "<img src=x onerror=window.__x=1>",
      );
    }
  }
});

test("control: a script that got into a page all the same does not run, and is told", async () => {
  const page = await site.visit("");
  await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.__x = 1";
    document.body.append(script);
  });
  expect(await page.evaluate(() => (window as { __x?: number }).__x)).toBeUndefined();
  expect(site.faults.splice(0)).toEqual([expect.stringMatching(/Content Security Policy/)]);
});
