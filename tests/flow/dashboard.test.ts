import { describe, expect, test } from "vitest";
import { formsOf, linksOf, signIn, textOf, type Visitor } from "../support/dashboard.js";
import { byAttempt, scripted, succeed, TYPE, throws } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";
import { KEYS } from "../support/world.js";

const flow = setUpFlow();
const OTHER = "test.other";

const noticeOf = ({ html }: { html: string }): string | undefined =>
  /<p class="notice[^>]*>([^<]*)/.exec(html)?.[1];

/** Sends a form and follows where it leads. */
async function act(visitor: Visitor, page: string, action: string, fields = {}) {
  const sent = await visitor.submit(page, action, fields);
  expect(sent.status, sent.html).toBe(303);
  const location = sent.headers.get("location") ?? "";
  return { location, ...(await visitor.get(location)) };
}

describe("the overview", () => {
  test("tells first what needs somebody, then what waits, runs and went wrong", async () => {
    flow.start([scripted(throws("no")), scripted(succeed(), {}, OTHER)]);
    await flow.create(TYPE, {}, { maxAttempts: 1 });
    await flow.create(TYPE, {}, { maxAttempts: 2 });
    await flow.create(OTHER, {});
    await flow.qstash.deliverDue();
    await flow.create(OTHER, {}, { delaySeconds: 3600 });
    await flow.request("POST", `/api/types/${OTHER}/pause`, { secret: KEYS.admin });
    const ops = await signIn(flow, KEYS.admin);
    const text = textOf((await ops.get("/dashboard")).html);
    const inOrder = ["No sweep has run yet", `${TYPE}: 1 dead letter`, `${OTHER} is paused`];
    const places = inOrder.map((each) => text.indexOf(each));
    expect(places).toEqual(places.filter((at) => at >= 0).sort((a, b) => a - b));
    expect(text).toMatch(/Due now 0 Oldest due – Running 0 Retrying 1 Scheduled 1 Dead letters 1/);
    await flow.sweep();
    expect(textOf((await ops.get("/dashboard")).html)).not.toContain("No sweep");
  });

  test("shows an admin the roll-ups, the same from every instance (U07)", async () => {
    flow.start([scripted(byAttempt(throws("no"), succeed()))]);
    await flow.create(TYPE, {});
    await flow.create(TYPE, {}, { maxAttempts: 1 });
    await flow.qstash.deliverDue();
    await flow.runUntilIdle();
    await flow.advance(60);
    await flow.sweep();
    const ops = await signIn(flow, KEYS.admin);
    const first = (await ops.get("/dashboard")).html;
    flow.start([scripted(succeed())]);
    const second = (await ops.get("/dashboard")).html;
    const charts = (html: string) => [...html.matchAll(/<svg.*?<\/svg>/gs)].map(([svg]) => svg);
    expect(charts(second)).toEqual(charts(first));
    expect(first).toContain('aria-label="In the last 6 hours: 1 completed, 1 failed, 1 gave up."');
    expect(textOf(first)).toContain("Counted by sweeps");
  });

  test("shows others the last hour of their own attempts, and of nobody else's", async () => {
    flow.start([scripted(succeed())]);
    await flow.create(TYPE, {});
    const body = { type: TYPE, payload: {} };
    for (let n = 0; n < 3; n += 1) {
      await flow.request("POST", "/api/jobs", { body, secret: KEYS.globex });
    }
    await flow.qstash.deliverDue();
    const seen = async (secret: string) =>
      (await (await signIn(flow, secret)).get("/dashboard")).html;
    expect(await seen(KEYS.acme)).toContain("In the last hour: 1 completed, 0 failed, 0 gave up.");
    expect(await seen(KEYS.globex)).toContain(
      "In the last hour: 3 completed, 0 failed, 0 gave up.",
    );
  });

  test("costs few statements, like every page", async () => {
    flow.start([scripted(throws("no"))]);
    const jobId = await flow.create(TYPE, {}, { maxAttempts: 1 });
    await flow.deliverOne();
    const ops = await signIn(flow, KEYS.admin);
    const costs: Record<string, number> = {
      "": 3,
      "/jobs": 1,
      [`/jobs/${jobId}`]: 2,
      "/dead-letters": 1,
      "/dead-letters/replay": 1,
      "/schedules": 1,
      "/types": 1,
    };
    for (const [path, statements] of Object.entries(costs)) {
      flow.database.neon.requests = 0;
      await ops.get(`/dashboard${path}`);
      expect([path, flow.database.neon.requests]).toEqual([path, statements]);
    }
  });
});

describe("the list of jobs", () => {
  test("filters, and leads page by page through all that match, each once", async () => {
    flow.start([scripted(succeed()), scripted(succeed(), {}, OTHER)]);
    const jobs = Array.from({ length: 60 }, () => ({ type: TYPE, payload: {}, delaySeconds: 60 }));
    await flow.request("POST", "/api/jobs/batch", { body: { jobs } });
    // The longest there is, in characters of two UTF-16 units each.
    const dedupeKey = "😀".repeat(255);
    const other = await flow.create(OTHER, {}, { dedupeKey });
    const acme = await signIn(flow, KEYS.acme);
    const rows = (html: string) => [...html.matchAll(/<tr id="j([^"]*)"/g)].map(([, id]) => id);
    const first = await acme.get(`/dashboard/jobs?status=queued&type=${TYPE}`);
    const older = linksOf(first.html).find((link) => link.includes("cursor")) ?? "";
    const second = await acme.get(older);
    const seen = [...rows(first.html), ...rows(second.html)];
    expect([rows(first.html).length, seen.length, new Set(seen).size]).toEqual([50, 60, 60]);
    expect(rows((await acme.get(`/dashboard/jobs?key=${dedupeKey}`)).html)).toEqual([other]);
    const found = await acme.get(`/dashboard/jobs?key=${other}`);
    expect(found.headers.get("location")).toBe(`/dashboard/jobs/${other}`);
    expect(textOf((await acme.get("/dashboard/jobs?status=completed")).html)).toContain(
      "No job fits",
    );
  });

  test("says what it cannot read instead of showing another list", async () => {
    flow.start([scripted(succeed())]);
    await flow.create(TYPE, {});
    const acme = await signIn(flow, KEYS.acme);
    for (const query of [
      "status=lost",
      "type=No!",
      "after=yesterday",
      "before=2026-02-30T00:00",
      "cursor=x",
      "key=%00x",
    ]) {
      const { status, html } = await acme.get(`/dashboard/jobs?${query}`);
      expect([query, status]).toEqual([query, 400]);
      expect(html).toContain('role="alert"');
      expect(html).not.toContain("<tr id");
    }
    for (const path of ["/jobs/x", "/jobs/00000000-0000-7000-8000-000000000000", "/none"]) {
      expect((await acme.get(`/dashboard${path}`)).status).toBe(404);
    }
  });
});

describe("a job's page", () => {
  test("tells its life from who created it to what operators did", async () => {
    flow.start([
      scripted(
        byAttempt(async ({ once }) => {
          await once("mail", ({ trace }) => {
            trace({ to: "ana" });
            return "sent";
          });
          throw new Error("no mail");
        }, succeed()),
      ),
    ]);
    const created = await flow.request("POST", "/api/jobs", {
      body: { type: TYPE, payload: {}, maxAttempts: 1 },
      idempotencyKey: "order-42",
    });
    const { jobId } = (await created.json()) as { jobId: string };
    flow.qstash.duplicate(flow.qstash.pending()[0]?.messageId ?? "", { afterMs: 1000 });
    await flow.deliverOne();
    await flow.advance(1);
    await flow.deliverOne();
    const acme = await signIn(flow, KEYS.acme);
    const page = `/dashboard/jobs/${jobId}`;
    const replayed = await act(acme, page, "/replay", { reason: "mail is back" });
    expect([replayed.location, noticeOf(replayed)]).toEqual([
      `${page}?notice=replayed`,
      "Queued again.",
    ]);
    await flow.qstash.deliverDue();
    const text = textOf((await acme.get(page)).html);
    const story = [
      "Created by acme",
      "Idempotency-Key order-42",
      "Attempt 1 started",
      /Effect “mail”: done attempt 1 · {"to":"ana"}/,
      /Attempt 1 ended after [\d.]+ m?s: dead letter handler_error no mail/,
      "A verified message came and did not run it",
      "Replayed by acme mail is back",
      "Attempt 2 ended",
    ];
    const places = story.map((each) => text.search(each));
    expect(
      places.every((at) => at >= 0),
      text,
    ).toBe(true);
    expect(places).toEqual([...places].sort((a, b) => a - b));
  });

  test("changes it once, however often one form is sent", async () => {
    flow.start([scripted(throws("no"))]);
    const jobId = await flow.create(TYPE, {}, { delaySeconds: 3600 });
    const acme = await signIn(flow, KEYS.acme);
    const page = `/dashboard/jobs/${jobId}`;
    const forms = formsOf((await acme.get(page)).html);
    const [moved, again] = await Promise.all(
      [0, 1].map(() =>
        acme.post(
          `${page}/run-now`,
          forms.find(({ action }) => action.endsWith("run-now"))?.hidden ?? {},
        ),
      ),
    );
    expect([moved?.headers.get("location"), again?.headers.get("location")]).toEqual([
      `${page}?notice=moved`,
      `${page}?notice=moved`,
    ]);
    expect(await flow.events(jobId)).toHaveLength(1);
    expect(noticeOf(await act(acme, page, "/cancel"))).toBe("Cancelled.");
    const stale = await acme.post(`${page}/run-now`, { ...forms[1]?.hidden, action: "another" });
    expect(stale.headers.get("location")).toBe(`${page}?notice=not_waiting`);
  });

  test("lets an unknown effect be settled, with a reason", async () => {
    const dying = scripted(
      async ({ once }) => {
        await once("charge", () => new Promise<string>(() => {}), { ifUnknown: "dead_letter" });
      },
      { leaseSeconds: 60, timeoutSeconds: 30 },
    );
    const instance = flow.start([dying]);
    const jobId = await flow.create(TYPE, {}, { maxAttempts: 1 });
    instance.ports.rule = ({ method }) => (method === "beginEffect" ? "crash_after" : undefined);
    await flow.qstash.deliverDue();
    flow.start([dying]);
    await flow.advance(700);
    await flow.sweep();
    const acme = await signIn(flow, KEYS.acme);
    const page = `/dashboard/jobs/${jobId}`;
    expect(noticeOf(await act(acme, page, "/settle", { outcome: "done" }))).toContain("Say why");
    const settled = await act(acme, page, "/settle", {
      outcome: "not_done",
      reason: "not in the bank",
    });
    expect(noticeOf(settled)).toContain("Settled");
    expect(await flow.effects(jobId)).toMatchObject([{ state: "not_done", settled_by: "acme" }]);
  });
});

describe("dead letters", () => {
  test("are grouped by type and code, counted before a replay and followed after it", async () => {
    flow.start([
      scripted(byAttempt(throws(new Error("first")), succeed())),
      scripted(throws(Object.assign(new Error("gone"), { status: 410 })), {}, OTHER),
    ]);
    for (const dedupeKey of ["a", "b", undefined]) {
      await flow.create(TYPE, {}, { maxAttempts: 1, dedupeKey });
    }
    await flow.create(OTHER, {});
    await flow.qstash.deliverDue();
    await flow.create(TYPE, {}, { dedupeKey: "a", delaySeconds: 3600 });
    const acme = await signIn(flow, KEYS.acme);
    const groups = await acme.get("/dashboard/dead-letters");
    expect(textOf(groups.html)).toContain("1 test.other http_410 gone First");
    expect(textOf(groups.html)).toContain("3 test.script handler_error first First");
    const link = linksOf(groups.html).find((each) => each.includes(`replay?type=${TYPE}`)) ?? "";
    const preview = await acme.get(link);
    expect(textOf(preview.html)).toContain("3 match; 1 of them would be skipped");
    expect((await flow.query("select from jobs where status = 'dead_letter'")).length).toBe(4);

    const form = formsOf(preview.html).find(({ action }) => action.endsWith("/replay"));
    const fields = { ...form?.hidden, limit: "3", spread: "0" };
    const sent = await acme.post(form?.action ?? "", fields);
    const progress = sent.headers.get("location") ?? "";
    expect(textOf((await acme.get(progress)).html)).toContain(
      "0 of 2 jobs ended again. 1 were skipped.",
    );
    const repeated = await acme.post(form?.action ?? "", fields);
    expect(repeated.headers.get("location")?.split("?")[0]).toBe(progress.split("?")[0]);
    await flow.qstash.deliverDue();
    expect(textOf((await acme.get(progress)).html)).toContain("2 of 2 jobs ended again.");
    const globex = await signIn(flow, KEYS.globex);
    expect(textOf((await globex.get(progress)).html)).toContain("Nothing was replayed.");
  });
});

describe("schedules and types", () => {
  test("are paused and resumed, and a schedule is run now", async () => {
    flow.start([scripted(succeed())]);
    const body = { name: "nightly", cron: "0 3 * * *", type: TYPE, payload: {} };
    await flow.request("POST", "/api/schedules", { body });
    const ops = await signIn(flow, KEYS.admin);
    const page = "/dashboard/schedules";
    expect(noticeOf(await act(ops, page, "/nightly/pause"))).toBe("Paused.");
    expect(noticeOf(await act(ops, page, "/nightly/resume"))).toBe("Resumed.");
    const ran = await act(ops, page, "/nightly/run");
    expect(noticeOf(ran)).toContain("made now");
    expect(textOf(ran.html)).toContain("Created by acme");
    const types = "/dashboard/types";
    const paused = await act(ops, types, `/${TYPE}/pause`, { reason: "provider is down" });
    expect(textOf(paused.html)).toMatch(/paused .* by ops: provider is down/);
    expect(noticeOf(await act(ops, types, `/${TYPE}/resume`))).toBe("Resumed.");
  });
});
