import { describe, expect, test } from "vitest";
import { formsOf, linksOf, signIn, stranger, textOf } from "../support/dashboard.js";
import { byAttempt, scripted, succeed, TYPE, throws } from "../support/flow-jobs.js";
import { setUpFlow } from "../support/flow-world.js";
import { KEYS } from "../support/world.js";

const flow = setUpFlow();
const READER = "reader-secret-000000";
const API_KEYS = `ops:admin:${KEYS.admin},acme:write:${KEYS.acme},acme:read:${READER},globex:write:${KEYS.globex}`;
const env = { API_KEYS };
const PATHS = ["", "/jobs", "/dead-letters", "/dead-letters/replay", "/schedules", "/types"];
const EVIL = "<img src=x onerror=window.__x=1>";

const fail = () => scripted(throws(new Error(EVIL)));

/** Every row that an action could change. */
async function everything() {
  const jobs = await flow.query("select * from jobs order by id");
  const types = await flow.query("select job_type, paused_at from type_state order by job_type");
  const schedules = await flow.query("select * from schedules order by id");
  return { jobs, types, schedules };
}

describe("without a session", () => {
  test("no page and no unknown path shows data, and none can be framed (S06)", async () => {
    flow.start([fail()], { env });
    const jobId = await flow.create(TYPE, { secret: "payload-marker" }, { maxAttempts: 1 });
    await flow.deliverOne();
    flow.database.neon.requests = 0;
    for (const path of [...PATHS, `/jobs/${jobId}`, "/nothing", "/replays/x"]) {
      const shown = await stranger(flow).get(`/dashboard${path}`);
      expect([path, shown.status]).toEqual([path, 401]);
      expect(shown.html).not.toMatch(/payload-marker|test\.script|onerror/);
      expect(shown.headers.get("x-frame-options")).toBe("DENY");
      expect(shown.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    }
    const posted = await stranger(flow).post(`/dashboard/jobs/${jobId}/replay`, {});
    expect(posted.status).toBe(401);
    expect(flow.database.neon.requests).toBe(0);
  });

  test("style and script are there for the login, for ever under their names", async () => {
    flow.start([], { env });
    const { html } = await stranger(flow).get("/dashboard");
    const files = [...html.matchAll(/(?:href|src)="(\/dashboard\/assets\/[^"]+)"/g)];
    expect(files).toHaveLength(3);
    for (const [, file = ""] of files) {
      const { status, headers } = await stranger(flow).get(file);
      expect([status, headers.get("cache-control")]).toEqual([
        200,
        "public, max-age=31536000, immutable",
      ]);
      expect(headers.get("x-content-type-options")).toBe("nosniff");
    }
    expect((await stranger(flow).get("/dashboard/assets/style-0.css")).status).toBe(404);
  });
});

describe("the login", () => {
  test("gives a cookie that scripts and other sites cannot use, and goes on where one was", async () => {
    flow.start([], { env });
    const next = "/dashboard/jobs?status=failed";
    const given = { key: KEYS.acme, next };
    const { status, headers } = await stranger(flow).post("/dashboard/login", given);
    expect([status, headers.get("location")]).toEqual([303, next]);
    expect(headers.get("set-cookie")).toMatch(
      /^__Host-antrean=\d+\.[0-9a-f-]{36}\.[0-9a-f]{64}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Lax; Secure$/,
    );
    for (const elsewhere of [
      "https://evil.example/",
      "//evil.example",
      "/dashboard//evil.example",
      "/dashboardx",
      "/dashboard/../api/docs",
      "/dashboard/%2e%2e/api/docs",
      "/dashboard/\u4f60",
      "/dashboard/\u0001",
    ]) {
      const sent = await stranger(flow).post("/dashboard/login", {
        key: KEYS.acme,
        next: elsewhere,
      });
      expect(sent.headers.get("location")).toBe("/dashboard");
    }
  });

  test("says so where the browser is at plain http and would drop the cookie without a word", async () => {
    flow.start([], { env });
    const from = (origin: string) =>
      stranger(flow).post("/dashboard/login", { key: KEYS.acme }, { origin });
    const dropped = await from("http://antrean.test");
    expect([dropped.status, dropped.headers.get("set-cookie")]).toEqual([400, null]);
    expect(textOf(dropped.html)).toContain("Open this page over https");
    // A proxy before the instance speaks https with the browser.
    expect((await from("https://antrean.test")).status).toBe(303);
    flow.start([], { env: { ...env, PUBLIC_URL: "https://tunnel.example" } });
    const tunnelled = { origin: "http://localhost:3000", host: "localhost:3000" };
    const form = { "sec-fetch-site": "same-origin", ...tunnelled };
    const sent = await stranger(flow).post("/dashboard/login", { key: KEYS.acme }, form);
    expect(sent.status).toBe(303);
  });

  test("looks at no more wrong keys when they come at once", async () => {
    flow.start([], { env });
    const from = { "x-real-ip": "192.0.2.7" };
    const answers = await Promise.all(
      Array.from({ length: 40 }, () =>
        stranger(flow).post("/dashboard/login", { key: "wrong-secret-0000000" }, from),
      ),
    );
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(5);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(35);
  });

  test("is refused from another site's page, and slowed down after wrong keys", async () => {
    flow.start([], { env });
    const login = (key: string, headers: Record<string, string>) =>
      stranger(flow).post("/dashboard/login", { key }, headers);
    const foreign = await login(KEYS.acme, { origin: "https://evil.example" });
    expect([foreign.status, foreign.headers.has("set-cookie")]).toEqual([403, false]);
    const from = { "x-real-ip": "192.0.2.1" };
    for (let n = 0; n < 5; n += 1)
      expect((await login("wrong-secret-0000000", from)).status).toBe(401);
    const limited = await login(KEYS.acme, from);
    expect(limited.status).toBe(429);
    expect(Number(limited.headers.get("retry-after"))).toBeGreaterThan(50);
    expect((await login(KEYS.acme, { "x-real-ip": "192.0.2.2" })).status).toBe(303);
  });

  test("leaves neither keys, cookies, payloads nor reasons in the log (R06)", async () => {
    flow.start([fail()], { env });
    const jobId = await flow.create(TYPE, { note: "payload-marker" }, { maxAttempts: 1 });
    await flow.deliverOne();
    const visitor = await signIn(flow, KEYS.acme);
    await stranger(flow).post("/dashboard/login", { key: "wrong-key-marker-000" });
    await visitor.get("/dashboard/jobs?key=query-marker");
    await visitor.submit(`/dashboard/jobs/${jobId}`, "/replay", { reason: "reason-marker" });
    const log = JSON.stringify(flow.logs);
    expect(log).toContain('"route":"/dashboard/*"');
    expect(log).not.toMatch(/marker|acme-secret/);
    expect(log).not.toContain(visitor.cookie.slice(-64));
  });
});

describe("a session", () => {
  test("ends when its key is taken out of the configuration, and no other with it", async () => {
    flow.start([], { env });
    const acme = await signIn(flow, KEYS.acme);
    const ops = await signIn(flow, KEYS.admin);
    flow.start([], { env: { API_KEYS: API_KEYS.replace(KEYS.acme, "acme-rotated-00000000") } });
    expect((await stranger(flow, acme.cookie).get("/dashboard")).status).toBe(401);
    expect((await stranger(flow, ops.cookie).get("/dashboard")).status).toBe(200);
  });

  test("sees what its key may see, whatever it asks for", async () => {
    flow.start([fail()], { env });
    const jobId = await flow.create(TYPE, {}, { maxAttempts: 1 });
    await flow.deliverOne();
    const globex = await signIn(flow, KEYS.globex);
    for (const path of ["", "/jobs", "/dead-letters", "/dead-letters/replay"]) {
      const { status, html } = await globex.get(`/dashboard${path}`);
      expect([path, status]).toEqual([path, 200]);
      expect(html).not.toContain(jobId.slice(-8));
      expect(textOf(html)).not.toContain("onerror");
    }
    expect((await globex.get(`/dashboard/jobs/${jobId}`)).status).toBe(404);
    const ops = await signIn(flow, KEYS.admin);
    expect((await ops.get(`/dashboard/jobs/${jobId}`)).status).toBe(200);
  });

  test("of a reader has no form and no power to change anything", async () => {
    flow.start([fail()], { env });
    const jobId = await flow.create(TYPE, {}, { maxAttempts: 1 });
    await flow.deliverOne();
    const reader = await signIn(flow, READER);
    const before = await everything();
    for (const path of [...PATHS, `/jobs/${jobId}`]) {
      const { status, html } = await reader.get(`/dashboard${path}`);
      expect([path, status]).toEqual([path, 200]);
      expect(formsOf(html).map(({ action }) => action)).toEqual(["/dashboard/logout"]);
    }
    const [{ hidden } = { hidden: {} }] = formsOf((await reader.get("/dashboard")).html);
    const writer = await signIn(flow, KEYS.acme);
    expect((await reader.post(`/dashboard/jobs/${jobId}/replay`, hidden)).status).toBe(403);
    expect((await writer.submit("/dashboard", "/logout")).status).toBe(303);
    const [own] = formsOf((await writer.get("/dashboard")).html);
    const paused = await writer.post(`/dashboard/types/${TYPE}/pause`, own?.hidden ?? {});
    expect(paused.status).toBe(403);
    expect(await everything()).toEqual(before);
  });

  test("what a form or a link cannot hold is said, and nothing is cut: U+0000, a reason too long", async () => {
    flow.start([scripted(succeed())]);
    const jobId = await flow.create(TYPE, {});
    const acme = await signIn(flow, KEYS.acme);
    const code = await acme.get("/dashboard/dead-letters/replay?code=%00");
    const reason = await acme.post(`/dashboard/jobs/${jobId}/cancel`, { reason: "a\0b" });
    const path = await acme.get("/dashboard/jobs/%00");
    expect([code.status, reason.status, path.status]).toEqual([400, 400, 400]);
    const [{ hidden } = { hidden: {} }] = formsOf((await acme.get("/dashboard")).html);
    const given = { ...hidden, reason: "x".repeat(501) };
    const long = await acme.post(`/dashboard/jobs/${jobId}/cancel`, given);
    expect([long.status, long.html]).toEqual([400, expect.stringContaining("at most 500")]);
    expect((await flow.job(jobId)).status).toBe("queued");
  });

  test("changes nothing by any link, only by forms with its own token (S04)", async () => {
    flow.start([fail()], { env });
    const jobId = await flow.create(TYPE, {}, { maxAttempts: 1 });
    await flow.deliverOne();
    await flow.create(TYPE, {}, { delaySeconds: 3600 });
    const ops = await signIn(flow, KEYS.admin);
    const before = await everything();
    const seen = new Set(["/dashboard"]);
    for (const path of seen) {
      const { html } = await ops.get(path);
      for (const link of linksOf(html)) seen.add(link);
      for (const { action } of formsOf(html)) await ops.get(action);
    }
    expect(seen.size).toBeGreaterThan(10);
    const path = `/dashboard/jobs/${jobId}/replay`;
    const other = formsOf((await (await signIn(flow, KEYS.admin)).get("/dashboard")).html)[0];
    for (const fields of [{}, { csrf: "" }, { csrf: "0".repeat(64) }, other?.hidden ?? {}]) {
      expect((await ops.post(path, fields)).status).toBe(403);
    }
    const [own] = formsOf((await ops.get("/dashboard")).html);
    const foreign = { origin: "https://evil.example" };
    expect((await ops.post(path, own?.hidden ?? {}, foreign)).status).toBe(403);
    expect(await everything()).toEqual(before);
    expect((await ops.post(path, own?.hidden ?? {})).status).toBe(303);
    expect(await everything()).not.toEqual(before);
  });
});

test("what jobs and clients wrote is shown as text, and the policy allows nothing inline (S01)", async () => {
  flow.start([scripted(byAttempt(throws(new Error(EVIL)), succeed(EVIL)))], { env });
  const jobId = await flow.create(TYPE, { [EVIL]: EVIL }, { dedupeKey: EVIL, maxAttempts: 1 });
  await flow.deliverOne();
  const ops = await signIn(flow, KEYS.admin);
  await ops.submit(`/dashboard/jobs/${jobId}`, "/replay", { reason: EVIL });
  const pages = [
    `/jobs/${jobId}`,
    "/jobs",
    "/dead-letters",
    `/jobs?key=${encodeURIComponent(EVIL)}`,
  ];
  await flow.deliverOne();
  for (const path of pages) {
    const { html, headers } = await ops.get(`/dashboard${path}`);
    expect(html).not.toContain("<img");
    expect(html).not.toMatch(/ style=| on\w+="|<script(?! src)|<style/);
    const policy = headers.get("content-security-policy") ?? "";
    expect(policy).toMatch(/default-src 'none'; script-src 'self'; style-src 'self'/);
    expect(policy).not.toContain("unsafe");
  }
  const { html } = await ops.get(`/dashboard/jobs/${jobId}`);
  expect(textOf(html).split(EVIL).length).toBeGreaterThan(5);
});

test("links begin with the path of the public address, also for somebody who must sign in", async () => {
  flow.start([], { env: { ...env, PUBLIC_URL: "http://antrean.test/ops" } });
  const { html } = await stranger(flow).get("/dashboard/jobs?status=failed");
  expect(html).toContain('action="/ops/dashboard/login"');
  expect(html).toContain('value="/ops/dashboard/jobs?status=failed"');
  const visitor = await signIn(flow, KEYS.acme);
  expect((await visitor.get("/dashboard")).html).toContain('href="/ops/dashboard/jobs"');
});

test("an outage is a page that says so and names the request", async () => {
  const instance = flow.start([], { env });
  const visitor = await signIn(flow, KEYS.acme);
  instance.ports.rule = () => "fail";
  const { status, html, headers } = await visitor.get("/dashboard/jobs");
  expect(status).toBe(503);
  expect(textOf(html)).toContain(`Request ${headers.get("x-request-id")}`);
  expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
});
