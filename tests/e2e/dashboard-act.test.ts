/** Changing things through a real browser, and who cannot make a browser change them. */

import { createServer } from "node:http";
import type { Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { close, listen } from "../../dev/listen.js";
import { FatalError } from "../../src/core/define-job.js";
import { emptyTables } from "../support/database.js";
import { scripted, succeed } from "../support/flow-jobs.js";
import { type Site, startSite } from "../support/site.js";
import { KEYS } from "../support/world.js";

let isRepaired = false;
const invoices = scripted(
  () => {
    if (!isRepaired) throw new FatalError("The ledger is closed.", { code: "ledger_closed" });
    return "booked";
  },
  {},
  "test.invoices",
);
const mails = scripted(succeed(), {}, "test.mails");

let site: Site;
beforeAll(async () => {
  site = await startSite({ jobs: [invoices, mails] });
});
beforeEach(async () => {
  isRepaired = false;
  await emptyTables(site.world.database.pg);
});
afterEach(async () => {
  await site.closePages();
  for (const { messageId } of site.world.qstash.pending()) site.world.qstash.drop(messageId);
  expect(site.faults.splice(0)).toEqual([]);
});
afterAll(() => site.close());

const main = (page: Page) => page.locator("main").textContent();
const statusOf = async (jobId: string) => (await site.world.row(jobId)).status;

/** Makes a dead letter. */
async function deadLetter(more: Record<string, unknown> = {}): Promise<string> {
  const jobId = await site.world.create("test.invoices", {}, more);
  await site.world.qstash.deliverDue();
  expect(await statusOf(jobId)).toBe("dead_letter");
  return jobId;
}

/** Goes on by the Tab key alone until this has the focus, visibly, and presses Enter. */
async function press(page: Page, wanted: Locator): Promise<void> {
  await wanted.waitFor();
  for (let tabs = 0; tabs < 60; tabs++) {
    await page.keyboard.press("Tab");
    const focus = await wanted.evaluate((element) => ({
      isHere: element === document.activeElement,
      outline: getComputedStyle(element).outlineStyle,
    }));
    if (!focus.isHere) continue;
    expect(focus.outline).not.toBe("none");
    await page.keyboard.press("Enter");
    return;
  }
  throw new Error("no Tab leads there");
}

describe("dead letters", () => {
  test("a group is replayed after its count was seen, and its end is waited for", async () => {
    const { world } = site;
    await deadLetter();
    await deadLetter();
    await deadLetter({ dedupeKey: "invoice:7" });
    // An active job holds the slot that the third one would need.
    await world.create("test.invoices", {}, { dedupeKey: "invoice:7", delaySeconds: 3600 });
    const page = await site.visit("/dead-letters");
    expect(await main(page)).toMatch(/3\s*test\.invoices\s*ledger_closed\s*The ledger is closed\./);
    await page.getByRole("link", { name: "Replay…" }).click();
    await page.getByRole("heading", { name: "Replay dead letters" }).waitFor();
    expect(await main(page)).toMatch(/3 match; 1 of them would be skipped/);
    await page.clock.install();
    await page.getByLabel(/Reason/).fill("The ledger is open");
    await page.getByRole("button", { name: "Replay them" }).click();
    await page.waitForURL(/\/replays\//);
    expect(await main(page)).toMatch(/0 of 2 jobs ended again.*1 were skipped/s);
    isRepaired = true;
    await world.qstash.deliverDue();
    await page.clock.fastForward(3_100);
    await page.getByText(/2 of 2 jobs ended again/).waitFor();
  });

  test("one is replayed with the keyboard alone, from the login on", async () => {
    const jobId = await deadLetter();
    const page = await site.open();
    await page.goto("/dashboard");
    await page.locator("input[name=key]:focus").waitFor();
    await page.keyboard.type(KEYS.acme);
    await page.keyboard.press("Enter");
    await press(page, page.getByRole("link", { name: "Dead letters", exact: true }));
    await page.waitForURL(/dead-letters$/);
    await press(page, page.locator(`main a[href$="/jobs/${jobId}"]`));
    await page.waitForURL(`**/jobs/${jobId}`);
    await press(page, page.locator("summary", { hasText: "Replay" }));
    // Past the corrected payload, which stays empty.
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.type("from the keyboard");
    await press(page, page.getByRole("button", { name: "Replay" }));
    await page.getByText("Queued again.").waitFor();
    expect(await statusOf(jobId)).toBe("queued");
  });
});

test("a job that waits is cancelled with a reason, and replayed from there", async () => {
  const jobId = await site.world.create("test.mails", {}, { delaySeconds: 3600 });
  const page = await site.visit(`/jobs/${jobId}`, { secret: KEYS.acme });
  await page.locator("summary", { hasText: "Cancel" }).click();
  await page.getByLabel(/Reason/).fill("not needed");
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("Cancelled.", { exact: true }).waitFor();
  expect(await main(page)).toMatch(/Cancelled by acme\s*not needed/);
  expect(await statusOf(jobId)).toBe("cancelled");
  await page.locator("summary", { hasText: "Replay" }).click();
  await page.getByRole("button", { name: "Replay" }).click();
  await page.getByText("Queued again.").waitFor();
  expect(await statusOf(jobId)).toBe("queued");
});

test("a type is paused with a reason and resumed, and what it says is so", async () => {
  const { world } = site;
  const page = await site.visit("/types");
  const row = page.getByRole("row", { name: /test\.mails/ });
  await row.locator("summary", { hasText: "Pause" }).click();
  await row.getByLabel(/Reason/).fill("The provider is down");
  await row.getByRole("button", { name: "Pause" }).click();
  await page.getByText("Paused.", { exact: true }).waitFor();
  expect(await row.textContent()).toMatch(/paused.*by ops:? The provider is down/s);
  const jobId = await world.create("test.mails", {});
  await world.qstash.deliverDue();
  expect(await statusOf(jobId)).toBe("queued");
  await row.getByRole("button", { name: "Resume" }).click();
  await page.getByText("Resumed.", { exact: true }).waitFor();
  await world.sweep();
  await world.runUntilIdle(60);
  expect(await statusOf(jobId)).toBe("completed");
});

test("a schedule is paused, resumed and run now", async () => {
  const { world } = site;
  const body = { name: "nightly", cron: "30 3 * * *", type: "test.mails", payload: {} };
  expect((await world.request("POST", "/api/schedules", { body })).status).toBe(201);
  const page = await site.visit("/schedules", { secret: KEYS.acme });
  const row = page.getByRole("row", { name: /nightly/ });
  await row.getByRole("button", { name: "Pause" }).click();
  await page.getByText("Paused.", { exact: true }).waitFor();
  expect(await row.textContent()).toContain("paused");
  await row.getByRole("button", { name: "Resume" }).click();
  await page.getByText("Resumed.", { exact: true }).waitFor();
  await row.getByRole("button", { name: "Run now" }).click();
  await page.waitForURL(/\/jobs\//);
  await page.getByText("This job was made now").waitFor();
});

/** Everything that a change would touch. */
async function everything(): Promise<string> {
  const tables = ["jobs", "job_events", "job_effects", "schedules", "type_state"];
  const texts = tables.map((table) => `select '${table}' as name, t::text from ${table} t`);
  const { rows } = await site.world.database.pg.query(`${texts.join(" union all ")} order by 1, 2`);
  return JSON.stringify(rows);
}

test("nothing changes by a form on another site, although the browser sends the session along", async () => {
  const jobId = await deadLetter();
  const page = await site.visit("/types");
  // Even a form that knows the session's token is refused where it does not come from us.
  const token = await page.locator("input[name=csrf]").first().inputValue();
  const before = await everything();
  const attacker = createServer((request, response) => {
    const path = new URL(request.url ?? "", "http://x").searchParams.get("path");
    response.setHeader("content-type", "text/html");
    response.end(`<form method="post" action="${site.origin}/dashboard${path}">
      <input name="csrf" value="${token}"><button>Win a prize</button></form>`);
  });
  // Another port of the same host: cookies do not tell ports apart, SameSite does not either.
  const port = await listen(attacker, { port: 0, service: "the attacker" });
  try {
    for (const path of [`/jobs/${jobId}/replay`, "/types/test.mails/pause", "/logout", "/login"]) {
      await page.goto(`http://127.0.0.1:${port}/?path=${path}`);
      const [response] = await Promise.all([
        page.waitForResponse(`${site.origin}/dashboard${path}`),
        page.getByRole("button").click(),
      ]);
      expect(response.status(), path).toBe(403);
      expect((await response.request().allHeaders()).cookie, path).toContain("antrean=");
    }
  } finally {
    await close(attacker);
  }
  expect(await everything()).toBe(before);
});
